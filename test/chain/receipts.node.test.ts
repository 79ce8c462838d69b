// Tests that the gateway polls for a receipt with growing pauses (CHN-10). The test records the pauses and mines a block at the last one.
import { encodeFunctionData, type Hex } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { settlementAbi } from "../../scripts/chain/abi.ts";
import { mineBlocks } from "../../scripts/chain/client.ts";
import { createChainGateway } from "../../src/chain/evm.ts";
import { createRpc } from "../../src/chain/rpc.ts";
import { buildWorld, CONSUMER, must, PROVIDER, restore, UNIT, type World } from "./support.ts";

const PATIENCE_MS = 60_000;

let world: World;
let snapshot: Hex;
beforeAll(async () => {
  world = await buildWorld();
});
afterAll(() => world?.stop());
beforeEach(async () => {
  snapshot = await world.client.snapshot();
});
afterEach(() => restore(world, snapshot));

async function sendUnmined(): Promise<Hex> {
  await world.client.setAutomine(false);
  const args = [world.chain.token, UNIT, PROVIDER, CONSUMER] as const;
  const data = encodeFunctionData({ abi: settlementAbi, functionName: "pay", args });
  const transaction = { from: world.people.consumer.address, to: world.chain.settlementContract, data, gas: "0x7a120" };
  return world.client.transport.request({ method: "eth_sendTransaction", params: [transaction] });
}

test.each([
  [0, [10, 20, 40, 80, 160, 250, 250]],
  [2, [250, 250]],
])("with a block every %i seconds the gateway pauses %j ms", async (block_seconds, pauses) => {
  const hash = await sendUnmined();
  const made: number[] = [];
  const pause = async (ms: number) => {
    if (made.push(ms) === pauses.length) await mineBlocks(world.anvil.rpcUrl, 1);
  };
  const gateway = createChainGateway([{ ...world.network, block_seconds }], createRpc(), pause);
  expect(must(await gateway.waitForReceipt(world.network.network, hash, PATIENCE_MS))).toEqual({ state: "included" });
  expect(made).toEqual(pauses);
});
