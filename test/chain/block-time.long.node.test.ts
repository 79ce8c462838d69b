// Tests that a local chain with a block time mines by itself, in real time.
import { setTimeout } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { type Anvil, startAnvil } from "../../scripts/chain/anvil.ts";
import { createClient } from "../../scripts/chain/client.ts";

let anvil: Anvil | undefined;
afterEach(() => anvil?.stop());

test("a chain with a block time mines a block without a transaction", async () => {
  anvil = await startAnvil({ chainId: 84532, port: 0, blockTime: 1 });
  const client = createClient(anvil.rpcUrl);
  while ((await client.getBlockNumber({ cacheTime: 0 })) === 0n) await setTimeout(50);
  expect((await client.getBlock({ blockNumber: 1n })).transactions).toEqual([]);
});
