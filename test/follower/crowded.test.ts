// Numerous or large entries that anyone may write to the chain never stop a follower (CHN-24). Only this file uses the network `lab-crowded`.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { deposit } from "../promotion/support.ts";
import { networksWith, payOnChain, spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { createWorld, expectStatus, type World } from "../support/world.ts";
import { createCrowd } from "./crowded-support.ts";
import { bookedOf, escrowOf, follow, heldBy, linesOf } from "./support.ts";

const LAB = "lab-crowded";
const UNIT = 1_000_000;
const THRESHOLD = 15 * UNIT;
const { lab, mine } = labOf(LAB);

let world: World;
let crowd: Awaited<ReturnType<typeof createCrowd>>;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
  crowd = await createCrowd(LAB);
});
afterEach(() => spoil(LAB));

const followed = async (): Promise<boolean> => {
  await mine(4);
  return follow(world, LAB);
};
const head = async (): Promise<number> => Number(await lab("eth_blockNumber"));

describe("520 lines of one vault", () => {
  const LINES = 520;
  const fill = async (did: string): Promise<void> => {
    for (let n = 0; n < 2; n++) await crowd.deposit(did, LINES / 2);
  };

  it.each([
    ["and they come back in another block", true],
    ["and they do not come back", false],
  ])("are all undone by a reorg, %s", async (_, back) => {
    const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
    await followed();
    const start = await head();
    await deposit(did, THRESHOLD, LAB);
    await fill(did);
    const sent: string[] = [];
    for (let number = start + 1; number <= (await head()); number++) {
      const { transactions } = await lab("eth_getBlockByNumber", `0x${number.toString(16)}`, false);
      for (const hash of transactions) sent.push(String(await lab("debug_getRawTransaction", hash)));
    }
    expect(await followed()).toBe(true);
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD + LINES, state: "ACTIVE" });
    await lab("anvil_rollback", (await head()) - start);
    await mine(1);
    if (back) for (const signed of sent) await lab("eth_sendRawTransaction", signed);
    await mine(8);
    expect(await followed()).toBe(true);
    const held = back ? THRESHOLD + LINES : 0;
    expect([await heldBy(did, LAB), (await escrowOf(did)).balance]).toEqual([held, held]);
    expect((await linesOf(did)).map(({ number }) => number)).toEqual(
      back ? Array.from({ length: LINES + 1 }, (_one, at) => at + 1) : [],
    );
  });

  it("are read again with the blocks of an earlier settlement that was left out", async () => {
    const [consumer, provider] = [await world.consumer(), await world.provider({}, "GLOBAL-USDC", LAB)];
    const other = await world.provider({}, "GLOBAL-USDC", LAB);
    await followed();
    const intent = await world.intent(consumer, provider, "10.00", { network: LAB });
    const named = { intentId: intent.intent_id, network: LAB };
    const tx = await payOnChain(consumer.did, provider.did, 10 * UNIT, named);
    await mine(3);
    await spoil(LAB, { method: "eth_getLogs", times: 99, how: "answer", result: [] });
    await follow(world, LAB);
    await spoil(LAB);
    await fill(provider.did);
    await followed();
    expectStatus(await asProvider(world, { consumer, provider, intent, tx }), 200);
    await deposit(other.did, UNIT, LAB);
    expect(await followed()).toBe(true);
    const balance = 999_500 + LINES;
    expect([await heldBy(provider.did, LAB), (await escrowOf(provider.did)).balance]).toEqual([balance, balance]);
    expect((await bookedOf(provider.did))[0]).toEqual(["settlement", 999_500, 999_500]);
    expect(await bookedOf(other.did)).toEqual([["deposit", UNIT, UNIT]]);
  });
});
