// One node is believed until two readings agree (FAC-18, FAC-20, CHN-24): a forged receipt is reversed, an event that was left out once is never a
// deposit, and the balance never exceeds what a vault holds. Only this file uses the network `lab-lies`.
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { asClient, asConsumer, asProvider, type Pair } from "../facilitation/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { honestNode, networksWith, payOnChain, spoil } from "../support/chain.ts";
import { type Claimed, forgedReceipt } from "../support/forged.ts";
import { labOf } from "../support/lab.ts";
import type { Spoil } from "../support/spoiling-node.ts";
import { withDeps } from "../support/variants.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { eventsOf, intentOf, taskOf, transactionOf } from "./reversals.ts";
import { bookedOf, escrowOf, follow, followOnce, heldBy, releaseSurplus, robVault, transferTo } from "./support.ts";

const LAB = "lab-lies";
const UNIT = 1_000_000;
const { lab, mine } = labOf(LAB);

/** `doubled` has an honest second node. */
let world: World;
let doubled: World;
beforeAll(async () => {
  const networks = (more: Json) =>
    JSON.stringify(
      (JSON.parse(networksWith(LAB)) as Json[]).map((one) => (one.network === LAB ? { ...one, ...more } : one)),
    );
  world = await createWorld({ NETWORKS: networks({}) });
  doubled = await createWorld({ NETWORKS: networks({ fallback_rpc_url: honestNode(LAB) }) });
});
beforeEach(async () => {
  await mine(3);
  await follow(world, LAB);
  await rows("delete from alerts");
});
afterEach(() => spoil(LAB));

const lie = (...lies: readonly Partial<Spoil>[]) =>
  spoil(LAB, ...lies.map((one) => ({ method: "", times: 999, how: "answer", ...one }) as Spoil));
const RECEIPT = "eth_getTransactionReceipt";
const alertsOf = async () => (await rows("select kind, subject from alerts")).map(({ kind }) => kind).sort();
const followed = async (by = world) => {
  await mine(3);
  await follow(by, LAB);
};

const pairOf = async (by = world): Promise<Pair> => ({
  consumer: await by.consumer(),
  provider: await by.provider({}, "GLOBAL-USDC", LAB),
});

/** Opens an intent of `amount`, and pays `really` for it on-chain. */
async function paid(amount: string, really: number, by = world, pair?: Pair) {
  const { consumer, provider } = pair ?? (await pairOf(by));
  const intent = await by.intent(consumer, provider, amount, { network: LAB });
  const named = { intentId: intent.intent_id, network: LAB };
  const tx = await payOnChain(consumer.did, provider.did, really, named);
  await mine(3);
  return { consumer, provider, intent, tx };
}
const forge = async (tx: string, claimed: Claimed): Promise<Json> => forgedReceipt(await lab(RECEIPT, tx), claimed);

describe("a forged receipt", () => {
  const claimed = { gross: 900 * UNIT, escrow: 15 * UNIT, held: 15 * UNIT };

  it("credits no more than the vault holds, and is reversed with all of its effects once its block is booked", async () => {
    const purchase = await paid("900.00", 70_000);
    const { did } = purchase.provider;
    await lie({ method: RECEIPT, first: purchase.tx, result: await forge(purchase.tx, claimed) });
    const fac = expectStatus(await asProvider(world, purchase), 200);
    const held = await heldBy(did, LAB);
    expect([held, await escrowOf(did)]).toMatchObject([6_996, { state: "FUNDING", balance: 6_996 }]);
    expect(fac).toMatchObject({ gross_amt: "900.00", escrow_state: "FUNDING" });
    expect(await alertsOf()).toEqual(["reconciliation"]);

    // While the lie goes on nothing is booked, and an alert reports that the receipt is not what its block has.
    await mine(3);
    expect(await followOnce(world, LAB)).toBe(false);
    expect([await bookedOf(did), await alertsOf()]).toEqual([[], ["network", "reconciliation"]]);

    await spoil(LAB);
    await followed();
    expect(await transactionOf(fac.transaction_id)).toMatchObject({ reversed_at: expect.any(Number) });
    expect(await taskOf(fac.task_id)).toMatchObject({ status: "void" });
    expect(await intentOf(purchase)).toMatchObject({ transaction_id: null });
    expect(await eventsOf("transaction.reversed", fac.transaction_id)).toHaveLength(1);
    expect(await escrowOf(did)).toMatchObject({ state: "FUNDING", balance: 0, contributed: 0 });
    expect(await bookedOf(did)).toEqual([["settlement", 6_996, 6_996]]);
    expect(await alertsOf()).toEqual(["network", "reconciliation", "settlement_reversed"]);
  });

  it("is reversed too if the vault is full and nothing went into the escrow", async () => {
    const pair = await pairOf();
    await deposit(pair.provider.did, 15 * UNIT, LAB);
    await followed();
    const purchase = await paid("900.00", 70_000, world, pair);
    const forged = await forge(purchase.tx, { gross: 900 * UNIT, escrow: 0, held: 15 * UNIT });
    await lie({ method: RECEIPT, first: purchase.tx, result: forged });
    const fac = expectStatus(await asConsumer(world, purchase), 200);
    await spoil(LAB);
    await followed();
    expect(await transactionOf(fac.transaction_id)).toMatchObject({ reversed_at: expect.any(Number) });
    expect(await escrowOf(pair.provider.did)).toMatchObject({ state: "ACTIVE", balance: 15 * UNIT });
  });

  it.each([
    ["in the intent form", asProvider],
    ["in the client form", (by: World, purchase: never) => asClient(by, purchase, { network: LAB })],
  ] as const)("is refused from 100.00 on if a second node disagrees, %s", async (_form, facilitate) => {
    const purchase = await paid("100.00", 70_000, doubled);
    const forged = await forge(purchase.tx, { gross: 100 * UNIT, escrow: 5 * UNIT, held: 5 * UNIT });
    await lie({ method: RECEIPT, first: purchase.tx, result: forged });
    const refused = await facilitate(doubled, purchase as never);
    expect([refused.status, refused.body.code]).toEqual([503, "chain_unavailable"]);
    await spoil(LAB);
    const told = await facilitate(doubled, purchase as never);
    expect([told.status, told.body.code]).toEqual([409, "amount_mismatch"]);
  });

  it("is asked of both nodes if it follows a small settlement of the same transaction, in the client form", async () => {
    const purchase = await paid("900.00", 70_000, doubled);
    const small = await lab(RECEIPT, purchase.tx);
    const large = await forge(purchase.tx, claimed);
    const behind = large.logs.map((log: Json) => ({
      ...log,
      logIndex: `0x${(Number(log.logIndex) + small.logs.length).toString(16)}`,
    }));
    const result = { ...small, logs: [...small.logs, ...behind] };
    await lie({ method: RECEIPT, first: purchase.tx, result });
    const refused = await asClient(doubled, purchase as never, { network: LAB });
    expect([refused.status, refused.body.code]).toEqual([503, "chain_unavailable"]);
  });

  it("is reversed by the next reading if no chain has its block, even while the lie goes on, and delays no other settlement", async () => {
    const purchase = await paid("90.00", 70_000);
    const next = await paid("10.00", 10 * UNIT);
    await followed();
    const forged = await forge(purchase.tx, { ...claimed, gross: 90 * UNIT });
    await lie(
      { method: RECEIPT, first: purchase.tx, result: { ...forged, blockNumber: "0x3b9aca00" } },
      { method: "eth_blockNumber", result: "0x3b9aca10" },
    );
    const fac = expectStatus(await asProvider(world, purchase), 200);
    expectStatus(await asProvider(world, next), 200);
    await follow(world, LAB);
    expect(await transactionOf(fac.transaction_id)).toMatchObject({ reversed_at: expect.any(Number) });
    expect(await intentOf(purchase)).toMatchObject({ status: "OPEN", payment_tx: null });
    expect(await alertsOf()).toEqual(["reconciliation", "settlement_reversed"]);
    const other = await paid("10.00", 70_000);
    const once = await forge(other.tx, { gross: 10 * UNIT, escrow: UNIT, held: UNIT });
    await lie({ method: RECEIPT, first: other.tx, result: once, times: 1 });
    const late = expectStatus(await asProvider(world, other), 200);
    await followed();
    expect(await transactionOf(late.transaction_id)).toMatchObject({ reversed_at: expect.any(Number) });
  });

  it("is accepted below 100.00, and reversed once both nodes agree", async () => {
    const purchase = await paid("99.99", 70_000, doubled);
    const forged = await forge(purchase.tx, { gross: 99_990_000, escrow: 5 * UNIT, held: 5 * UNIT });
    await lie({ method: RECEIPT, first: purchase.tx, result: forged });
    const fac = expectStatus(await asProvider(doubled, purchase), 200);
    // The first node lies only about the settlement, and the second one is honest.
    await followed(doubled);
    expect((await transactionOf(fac.transaction_id)).reversed_at).toBeNull();
    await spoil(LAB);
    await followed(doubled);
    expect((await transactionOf(fac.transaction_id)).reversed_at).toEqual(expect.any(Number));
  });
});

it("books a payment without an alert although the node says only once who sent it", async () => {
  const purchase = await paid("10.00", 10 * UNIT);
  await lie({ method: "eth_getTransactionByHash", first: purchase.tx, times: 1, result: null });
  await follow(world, LAB);
  expect([await bookedOf(purchase.provider.did), await alertsOf()]).toEqual([[["settlement", 999_500, 999_500]], []]);
});

describe("events that a node leaves out", () => {
  it("are booked by the next two readings if left out once, and never as a deposit", async () => {
    const purchase = await paid("10.00", 10 * UNIT);
    const { did } = purchase.provider;
    await lie({ method: "eth_getLogs", times: 1, result: [] });
    await follow(world, LAB);
    expect(await alertsOf()).toEqual(["network"]);
    await followed();
    expect(await bookedOf(did)).toEqual([["settlement", 999_500, 999_500]]);
    expectStatus(await asProvider(world, purchase), 200);
    await followed();
    expect([(await escrowOf(did)).balance, await heldBy(did, LAB)]).toEqual([999_500, 999_500]);
  });

  it("are found at the facilitation if left out twice: their blocks are read again, and the payment counts once", async () => {
    const purchase = await paid("10.00", 10 * UNIT);
    const { did } = purchase.provider;
    await lie({ method: "eth_getLogs", result: [] });
    await followed();
    await followed();
    // No event of the contract or the token explains what the vault has: nothing of it is booked, and an operator gets an alert.
    expect([await bookedOf(did), await alertsOf()]).toEqual([[], ["network"]]);
    await spoil(LAB);
    const fac = expectStatus(await asProvider(world, purchase), 200);
    expect((await escrowOf(did)).balance).toBe(999_500);
    await followed();
    expect(await bookedOf(did)).toEqual([["settlement", 999_500, 999_500]]);
    expect(await escrowOf(did)).toMatchObject({ balance: 999_500, contributed: 999_500 });
    expect(await transactionOf(fac.transaction_id)).toMatchObject({ reversed_at: null, uncounted: 0 });
    expect(await alertsOf()).toEqual(["network", "network"]);
  });

  it("stand as the chain has them, with an alert, if their blocks are too old to be read again", async () => {
    const purchase = await paid("10.00", 10 * UNIT);
    await follow(world, LAB);
    // An earlier version wrote no line for a settlement that put nothing into a full vault.
    await rows("delete from ledger_lines where did = ?", purchase.provider.did);
    await rows("delete from booked_blocks where network = ?", LAB);
    const fac = expectStatus(await asProvider(world, purchase), 200);
    await followed();
    expect((await transactionOf(fac.transaction_id)).reversed_at).toBeNull();
    expect(await alertsOf()).toEqual(["network", "reconciliation"]);
  });

  it("are booked once both nodes agree if the first one left them out, and the contradiction raises an alert", async () => {
    const { did } = await doubled.provider({}, "GLOBAL-USDC", LAB);
    await deposit(did, UNIT, LAB);
    await mine(3);
    await lie({ method: "eth_getLogs", result: [] });
    expect(await followOnce(doubled, LAB)).toBe(false);
    expect([await bookedOf(did), await alertsOf()]).toEqual([[], ["network"]]);
    await spoil(LAB);
    // Both nodes agree, so it is booked at once.
    expect(await followOnce(doubled, LAB)).toBe(true);
    expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  });
});

describe("a settlement whose part of the escrow its vault no longer holds", () => {
  it("counts as far as the vault covers it, and in full once its line is booked", async () => {
    const pair = await pairOf();
    const { did } = pair.provider;
    await deposit(did, 10 * UNIT, LAB);
    await followed();
    // The follower does not know of this yet.
    await robVault((await escrowOf(did)).vault, 4 * UNIT, LAB);
    const purchase = await paid("10.00", 10 * UNIT, world, pair);
    const fac = expectStatus(await asProvider(world, purchase), 200);
    expect(await transactionOf(fac.transaction_id)).toMatchObject({ escrow: 999_500, uncounted: 999_500 });
    expect(await escrowOf(did)).toMatchObject({ balance: 10 * UNIT, contributed: 0 });
    await followed();
    expect(await transactionOf(fac.transaction_id)).toMatchObject({ uncounted: 0, reversed_at: null });
    expect(await escrowOf(did)).toMatchObject({ balance: 10_999_500, contributed: 999_500 });
    expect(await alertsOf()).toEqual(["reconciliation"]);
  });

  it("counts as far as both nodes say that the vault covers it, if both are asked", async () => {
    const pair = await pairOf(doubled);
    const { did } = pair.provider;
    await deposit(did, 10 * UNIT, LAB);
    await followed(doubled);
    await robVault((await escrowOf(did)).vault, 4 * UNIT, LAB);
    const purchase = await paid("100.00", 100 * UNIT, doubled, pair);
    await lie({ method: "eth_call", times: 1, result: `0x${(40 * UNIT).toString(16).padStart(64, "0")}` });
    const fac = expectStatus(await asProvider(doubled, purchase), 200);
    expect(await transactionOf(fac.transaction_id)).toMatchObject({ escrow: 9 * UNIT, uncounted: 4 * UNIT });
  });

  it("turns its escrow ACTIVE once the rest counts", async () => {
    const pair = await pairOf();
    const { did } = pair.provider;
    await deposit(did, 14_500_000, LAB);
    await followed();
    await robVault((await escrowOf(did)).vault, UNIT, LAB);
    const purchase = await paid("10.00", 10 * UNIT, world, pair);
    expect(expectStatus(await asProvider(world, purchase), 200).escrow_state).toBe("FUNDING");
    await followed();
    expect(await escrowOf(did)).toMatchObject({ state: "ACTIVE" });
  });

  it("is reversed by no more than counted if a reorg removes it before", async () => {
    const pair = await pairOf();
    const { did } = pair.provider;
    await deposit(did, 10 * UNIT, LAB);
    await followed();
    await robVault((await escrowOf(did)).vault, 4 * UNIT, LAB);
    const purchase = await paid("10.00", 10 * UNIT, world, pair);
    const fac = expectStatus(await asProvider(world, purchase), 200);
    const { blockNumber } = await lab(RECEIPT, purchase.tx);
    const behind = Number(await lab("eth_blockNumber")) - Number(blockNumber);
    await lab("anvil_rollback", behind + 1);
    await mine(behind + 3);
    await followed();
    // The vault holds less than its lines say, so their blocks were read again.
    await followed();
    expect((await transactionOf(fac.transaction_id)).reversed_at).toEqual(expect.any(Number));
    expect(await escrowOf(did)).toMatchObject({ balance: 10 * UNIT, contributed: 0 });
  });
});

it("reads a chain that moves with every reading twice up to where it was, and no further in one run", async () => {
  const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
  await deposit(did, UNIT, LAB);
  await mine(3);
  let readings = 0;
  const { chain } = world.deps;
  const readEvents: typeof chain.readEvents = async (...asked) => {
    const reading = await chain.readEvents(...asked);
    readings += 1;
    await deposit(did, 1, LAB);
    return reading;
  };
  const moving = withDeps(world, { ...world.deps, chain: { ...chain, readEvents } });
  expect([await followOnce(moving, LAB), readings]).toEqual([true, 2]);
  expect((await bookedOf(did))[0]).toEqual(["deposit", UNIT, UNIT]);
  // A sync returns what was there when it was called.
  await mine(3);
  const path = `/v1/agents/${encodeURIComponent(did)}/escrow/sync`;
  const { escrow } = expectStatus(await moving.call("POST", path), 200);
  expect(Number(escrow[0].held)).toBeGreaterThanOrEqual(1.000002);
});

it("books no deposit for a balance that one node repeatedly reports too high, and raises an alert", async () => {
  const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
  await deposit(did, UNIT, LAB);
  await followed();
  // More than any vault of this file holds.
  await lie({ method: "eth_call", result: `0x${(900 * UNIT).toString(16).padStart(64, "0")}` });
  await rows("update followers set checked_did = ? where network = ?", did.slice(0, -1), LAB);
  await followOnce(world, LAB);
  await spoil(LAB);
  expect([await bookedOf(did), (await escrowOf(did)).balance]).toEqual([[["deposit", UNIT, UNIT]], UNIT]);
  const subject = `the vault of ${did} on ${LAB}`;
  expect(await rows("select kind from alerts where subject = ?", subject)).toEqual([{ kind: "network" }]);
});

it("books no deposit for a balance that one node once reports too high", async () => {
  const { did } = await world.provider({}, "GLOBAL-USDC", LAB);
  await deposit(did, UNIT, LAB);
  await followed();
  await lie({ method: "eth_call", times: 2, result: `0x${(900 * UNIT).toString(16).padStart(64, "0")}` });
  await followOnce(world, LAB);
  await spoil(LAB);
  await followed();
  expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  await transferTo((await escrowOf(did)).vault, 5, LAB);
  await followed();
  await releaseSurplus(did, LAB).catch(() => undefined);
  expect((await bookedOf(did)).at(-1)).toEqual(["deposit", 5, UNIT + 5]);
});
