// Where a network has a second node, nothing is taken back, reversed, booked by a balance or noted as a difference on the word of the first one alone
// (CHN-30). The network `lab-doubted` belongs to this file alone; what it books has three confirmations.
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { honestNode, networksWith, payOnChain, spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { bookedOf, escrowOf, follow, linesOf, transferTo } from "./support.ts";

const LAB = "lab-doubted";
const UNIT = 1_000_000;
const BAD = `0x${"ba".repeat(32)}`;
const { lab, mine } = labOf(LAB);

/** Its second node is honest; that of `misled` is the first one again. */
let world: World;
let misled: World;
beforeAll(async () => {
  const networks = (fallback: Json) =>
    JSON.stringify(
      (JSON.parse(networksWith(LAB)) as Json[]).map((network) =>
        network.network === LAB ? { ...network, ...fallback } : network,
      ),
    );
  world = await createWorld({ NETWORKS: networks({ fallback_rpc_url: honestNode(LAB) }) });
  misled = await createWorld({ NETWORKS: networks({}) });
});
beforeEach(() => settled());
afterEach(() => spoil(LAB));

const followed = (by = world) => follow(by, LAB);
async function settled(): Promise<void> {
  await mine(3);
  await followed();
}
const lie = (...lies: readonly Omit<Spoil, "times" | "how">[]) =>
  spoil(LAB, ...lies.map((one): Spoil => ({ ...one, times: 999, how: "answer" })));
/** The block at this height has another hash. */
async function otherBlock(number: number): Promise<Omit<Spoil, "times" | "how">> {
  const at = `0x${number.toString(16)}`;
  const block = await lab("eth_getBlockByNumber", at, false);
  return { method: "eth_getBlockByNumber", first: at, result: { ...block, hash: BAD } };
}
const notes = async (): Promise<number[]> =>
  (await rows("select number from booked_blocks where network = ? order by number desc", LAB)).map(
    ({ number }) => number,
  );
const alertsOf = (kind: string) => rows("select subject from alerts where kind = ?", kind);
const word = (units: number) => `0x${units.toString(16).padStart(64, "0")}`;
const deposited = async (): Promise<string> => {
  const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
  await deposit(did, UNIT, LAB);
  await settled();
  expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  return did;
};

describe("a first node that tells of another chain", () => {
  it("has nothing taken back where the second one has the booked block, and the reading goes on by that", async () => {
    const did = await deposited();
    await lie(...(await Promise.all((await notes()).slice(0, 3).map(otherBlock))));
    await deposit(did, UNIT, LAB);
    await lab("anvil_mine", "0x3");
    expect(await followed()).toBe(true);
    expect(await bookedOf(did)).toEqual([
      ["deposit", UNIT, UNIT],
      ["deposit", UNIT, 2 * UNIT],
    ]);
    expect(await rows("select 1 from ledger_lines where did = ? and reversed = 1", did)).toEqual([]);
    expect(await alertsOf("chain_reorganised")).toEqual([]);
  });

  it("stops the reading where the second one does not answer", async () => {
    const did = await deposited();
    const lost = (JSON.parse(networksWith(LAB)) as Json[]).map((network) =>
      network.network === LAB ? { ...network, fallback_rpc_url: "http://127.0.0.1:9" } : network,
    );
    const alone = await createWorld({ NETWORKS: JSON.stringify(lost) });
    await lie(...(await Promise.all((await notes()).slice(0, 3).map(otherBlock))));
    expect(await followed(alone)).toBe(false);
    expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  });

  it("is believed where both say so", async () => {
    const did = await deposited();
    await lab("anvil_rollback", 4);
    await mine(6);
    await followed();
    await followed();
    expect(await bookedOf(did)).toEqual([]);
    expect(await alertsOf("chain_reorganised")).toEqual([{ subject: `ledger on ${LAB}` }]);
  });
});

describe("a first node that tells of another balance", () => {
  it.each([
    ["higher", 9 * UNIT],
    ["lower", 1],
  ])("that is %s has neither a deposit nor a difference noted", async (_, told) => {
    const did = await deposited();
    await lie({ method: "eth_call", result: word(told) });
    await followed();
    expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
    expect((await escrowOf(did)).balance).toBe(UNIT);
    expect(await rows("select * from ledger_differences where did = ?", did)).toEqual([]);
    expect(await rows("select 1 from alerts where subject = ?", `${did} on ${LAB}`)).toEqual([]);
    // Alone it is believed where it tells of less; of more the token's own events know nothing.
    await followed(misled);
    const noted = await rows("select held from ledger_differences where did = ?", did);
    expect([(await bookedOf(did)).length, noted]).toEqual([1, told > UNIT ? [] : [{ held: told }]]);
  });

  it("is believed where both say so: what came without an event is a deposit", async () => {
    const did = await deposited();
    await transferTo((await escrowOf(did)).vault, 5, LAB);
    await settled();
    expect((await linesOf(did)).at(-1)).toMatchObject({ kind: "deposit", amount: 5, held: UNIT + 5 });
  });
});

describe("a first node that hides a facilitated payment", () => {
  it("has it reversed where it is alone and hides its block too, and not where the second one has it", async () => {
    const shop = await world.provider({}, "GLOBAL-USDC", LAB);
    const consumer = await world.consumer();
    const intent = await world.intent(consumer, shop, "10.00", { network: LAB });
    const tx = await payOnChain(consumer.did, shop.did, 10 * UNIT, { intentId: intent.intent_id, network: LAB });
    await mine(3);
    const purchase = { provider: shop, consumer, intent, tx };
    const { transaction_id: id } = expectStatus(await asProvider(world, purchase), 200);
    await followed();
    const reversedAt = async () =>
      (await rows("select reversed_at from transactions where transaction_id = ?", id))[0]?.reversed_at;
    const hides = [
      { method: "eth_getLogs", result: [] },
      { method: "eth_getTransactionReceipt", first: tx, result: null },
      { method: "eth_getTransactionByHash", first: tx, result: null },
    ];
    const { blockNumber } = await lab("eth_getTransactionReceipt", tx);
    const gone = (await notes()).filter((number) => number >= Number(blockNumber));
    const otherBlocks = await Promise.all([Number(blockNumber), ...gone].map(otherBlock));
    await lie(...hides, ...otherBlocks);
    expect(await followed()).toBe(true);
    expect(await reversedAt()).toBeNull();
    await lie(...hides, ...otherBlocks);
    await followed(misled);
    await mine(3);
    await followed(misled);
    expect(await reversedAt()).toEqual(expect.any(Number));
  });
});
