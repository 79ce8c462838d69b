// On a network with a second node, the word of the first one alone undoes, reverses, books by a balance and notes as a difference nothing (CHN-30).
// Only this file uses the network `lab-doubted`; it books with three confirmations.
import { toEventSelector } from "viem/utils";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { asProvider } from "../facilitation/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { honestNode, networksWith, payOnChain, spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { bookedOf, escrowOf, follow, followOnce, linesOf, transferTo } from "./support.ts";

const LAB = "lab-doubted";
const UNIT = 1_000_000;
const BAD = `0x${"ba".repeat(32)}`;
const { lab, mine } = labOf(LAB);

/** `world` has an honest second node, `misled` has none, and that of `alone` is silent. */
let world: World;
let misled: World;
let alone: World;
beforeAll(async () => {
  const networks = (fallback: Json) =>
    JSON.stringify(
      (JSON.parse(networksWith(LAB)) as Json[]).map((network) =>
        network.network === LAB ? { ...network, ...fallback } : network,
      ),
    );
  world = await createWorld({ NETWORKS: networks({ fallback_rpc_url: honestNode(LAB) }) });
  misled = await createWorld({ NETWORKS: networks({}) });
  alone = await createWorld({ NETWORKS: networks({ fallback_rpc_url: "http://127.0.0.1:9" }) });
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
/** Gives the block at this height another hash. */
async function otherBlock(number: number): Promise<Omit<Spoil, "times" | "how">> {
  const at = `0x${number.toString(16)}`;
  const block = await lab("eth_getBlockByNumber", at, false);
  return { method: "eth_getBlockByNumber", first: at, result: { ...block, hash: BAD } };
}
/** The booked block, and the newest noted ones. */
const known = async (): Promise<number[]> => {
  const booked = "select booked_block as number from followers where network = ?1";
  const noted = "select number from (select number from booked_blocks where network = ?1 order by number desc limit 3)";
  return (await rows(`${booked} union ${noted}`, LAB)).map(({ number }) => number);
};
const alertsOf = (kind: string) => rows("select subject from alerts where kind = ?", kind);
const word = (units: number) => `0x${units.toString(16).padStart(64, "0")}`;
const deposited = async (): Promise<string> => {
  const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
  await deposit(did, UNIT, LAB);
  await settled();
  expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  return did;
};

describe("a first node that reports another chain", () => {
  it("has nothing undone if the second node has the booked block, and the reading goes on with the second node", async () => {
    const did = await deposited();
    await lie(...(await Promise.all((await known()).map(otherBlock))));
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

  it("stops the reading if the second node does not answer", async () => {
    const did = await deposited();
    await lie(...(await Promise.all((await known()).map(otherBlock))));
    expect(await followed(alone)).toBe(false);
    expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  });

  it("is believed if both nodes agree", async () => {
    const did = await deposited();
    await lab("anvil_rollback", 4);
    await mine(6);
    await followed();
    await followed();
    expect(await bookedOf(did)).toEqual([]);
    expect(await alertsOf("chain_reorganised")).toEqual([{ subject: `ledger on ${LAB}` }]);
  });
});

describe("a first node that reports another balance", () => {
  it.each([
    ["higher", 9 * UNIT],
    ["lower", 1],
  ])("has neither a deposit nor a difference noted if the balance is %s", async (_, told) => {
    const did = await deposited();
    await lie({ method: "eth_call", result: word(told) });
    await followed();
    expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
    expect((await escrowOf(did)).balance).toBe(UNIT);
    expect(await rows("select * from ledger_differences where did = ?", did)).toEqual([]);
    expect(await rows("select 1 from alerts where subject = ?", `${did} on ${LAB}`)).toEqual([]);
    // As the only node it is believed if it reports less; the token's own events do not explain more.
    await followed(misled);
    const noted = await rows("select held from ledger_differences where did = ?", did);
    expect([(await bookedOf(did)).length, noted]).toEqual([1, told > UNIT ? [] : [{ held: told }]]);
  });

  it("is believed if both nodes agree: an amount without an event is a deposit", async () => {
    const did = await deposited();
    await transferTo((await escrowOf(did)).vault, 5, LAB);
    await settled();
    expect((await linesOf(did)).at(-1)).toMatchObject({ kind: "deposit", amount: 5, held: UNIT + 5 });
  });
});

describe("a first node that hides a facilitated payment", () => {
  it("has it reversed if it is the only node and hides its block too, and not if a second node has it", async () => {
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
    const gone = (await known()).filter((number) => number >= Number(blockNumber));
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

describe("a deposit of 15.00 that a first node makes up", () => {
  const DEPOSITED = toEventSelector("EscrowDeposited(bytes32,address,address,uint256,uint256)");

  /** Deposits one base unit. Returns what the node then claims of it, in its log and its receipt alike. */
  async function forged(did: string): Promise<Omit<Spoil, "times" | "how">[]> {
    const fromBlock = await lab("eth_blockNumber");
    await deposit(did, 1, LAB);
    await mine(3);
    await rows("delete from alerts");
    const forge = (log: Json): Json =>
      log.topics[0] === DEPOSITED ? { ...log, data: `${word(15 * UNIT)}${word(15 * UNIT).slice(2)}` } : log;
    const logs: Json[] = await lab("eth_getLogs", { fromBlock, toBlock: "latest" });
    const own = logs.find(({ topics }) => topics[0] === DEPOSITED) as Json;
    const receipt = await lab("eth_getTransactionReceipt", own.transactionHash);
    return [
      { method: "eth_getLogs", result: [forge(own)] },
      {
        ...{ method: "eth_getTransactionReceipt", first: own.transactionHash },
        result: { ...receipt, logs: receipt.logs.map(forge) },
      },
    ];
  }
  const subjects = async () => (await rows("select kind, subject from alerts order by kind, subject")) as Json[];
  const SECOND = { kind: "network", subject: `second node of ${LAB}` };

  it("is not booked if the vault does not hold it and the second node is silent, and an alert is raised at once", async () => {
    const { did } = await alone.provider({}, "GLOBAL-USDC", LAB);
    await lie(...(await forged(did)));
    expect(await followOnce(alone, LAB)).toBe(false);
    expect(await subjects()).toEqual([{ kind: "network", subject: `events of ${LAB}` }, SECOND]);
    expect([await bookedOf(did), (await escrowOf(did)).balance]).toEqual([[], 0]);
    await spoil(LAB);
    await mine(3);
    await followed(alone);
    expect([await bookedOf(did), (await escrowOf(did)).balance]).toEqual([[["deposit", 1, 1]], 1]);
  });

  it("is undone by the same run, with an alert, if there is no other node and the node reports the true balance", async () => {
    const { did } = await misled.provider({}, "GLOBAL-USDC", LAB);
    await lie(...(await forged(did)));
    await passed(did);
    await followOnce(misled, LAB);
    expect([await bookedOf(did), (await escrowOf(did)).balance]).toEqual([[], 0]);
    expect(await subjects()).toContainEqual({ kind: "network", subject: `blocks of line 1 of ${did} on ${LAB}` });
    await spoil(LAB);
    await mine(3);
    await followed(misled);
    expect([await bookedOf(did), (await escrowOf(did)).balance]).toEqual([[["deposit", 1, 1]], 1]);
  });

  it("with a matching balance raises an alert in the next run once the node tells the truth, and is noted once both nodes do", async () => {
    const { did } = await alone.provider({}, "GLOBAL-USDC", LAB);
    await lie(...(await forged(did)), { method: "eth_call", result: word(15 * UNIT) });
    await followOnce(alone, LAB);
    expect(await bookedOf(did)).toEqual([["deposit", 15 * UNIT, 15 * UNIT]]);
    expect(await subjects()).toEqual([SECOND]);
    await spoil(LAB);
    await passed(did);
    await followOnce(alone, LAB);
    expect(await subjects()).toContainEqual({ kind: "reconciliation", subject: `${did} on ${LAB}` });
    const noted = () => rows("select held, expected from ledger_differences where did = ?", did);
    expect(await noted()).toEqual([]);
    await passed(did);
    await followOnce(world, LAB);
    expect(await noted()).toEqual([{ held: 1, expected: 15 * UNIT }]);
  });

  /** The comparison goes on right after this provider's vault. */
  const passed = (did: string) => rows("update followers set checked_did = ? where network = ?", did, LAB);
});
