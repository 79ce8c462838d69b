// After a reorg the follower undoes booked movements, and books those again that came back in other blocks (CHN-24, MKT-23). Only this file uses the
// network `lab-follower`; it books with three confirmations.
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { requireNetwork } from "../../src/chain/networks.ts";
import type { SettlementRef } from "../../src/chain/store.ts";
import { Conflict } from "../../src/core/retry.ts";
import { readBatch } from "../../src/db/batch.ts";
import { findRefundedAmount } from "../../src/escrow/refund-store.ts";
import { failUnpaidRefunds } from "../../src/follower/refunds.ts";
import { rewindToKept } from "../../src/follower/rewind.ts";
import { findFollower } from "../../src/follower/store.ts";
import { asProvider } from "../facilitation/support.ts";
import { buyer, dailyLimit, orderOf } from "../payments/support.ts";
import { deposit, rows } from "../promotion/support.ts";
import { account, networksWith, payOnChain, send, spoil } from "../support/chain.ts";
import { labOf } from "../support/lab.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { awaitedOf, bookedOf, escrowOf, expectRefund, follow, linesOf, refundOf, settlementOf } from "./support.ts";

const LAB = "lab-follower";
const HOUR = 3_600_000;
const UNIT = 1_000_000;
const THRESHOLD = 15 * UNIT;
const { lab, mine } = labOf(LAB);

let world: World;
beforeAll(async () => {
  world = await createWorld({ NETWORKS: networksWith(LAB) });
});
afterEach(async () => {
  await spoil(LAB);
  await lab("evm_setAutomine", true);
});

const provider = async (): Promise<string> => (await world.provider({}, "GLOBAL-USDC", LAB)).did;
const settle = () => mine(3);
const followed = () => follow(world, LAB);
/** Runs only the follower's first step, which undoes what is no longer on the chain. */
async function rewound(): Promise<boolean> {
  const { db, config } = world.deps;
  const { known } = await readBatch(db, { known: findFollower(db, LAB) });
  if (!known) throw new Error("the network was never read");
  return rewindToKept(world.deps, requireNetwork(config.networks, LAB), known);
}
const alertsOf = (kind: string) => rows("select subject, message from alerts where kind = ?", kind);

describe("a movement without its confirmations", () => {
  it("is not booked yet", async () => {
    const did = await provider();
    await deposit(did, UNIT, LAB);
    await mine(1);
    await followed();
    expect(await bookedOf(did)).toEqual([]);
    await mine(1);
    await followed();
    expect(await bookedOf(did)).toEqual([["deposit", UNIT, UNIT]]);
  });
});

describe("a reorg of booked blocks", () => {
  it("removes the lines for good if nothing comes back, and balance and state follow", async () => {
    const did = await provider();
    await settle();
    await followed();
    await deposit(did, THRESHOLD, LAB);
    await settle();
    await followed();
    expect(await escrowOf(did)).toMatchObject({ balance: THRESHOLD, state: "ACTIVE" });
    await lab("anvil_rollback", 4);
    await mine(5);
    await followed();
    await followed();
    expect(await bookedOf(did)).toEqual([]);
    expect(await escrowOf(did)).toMatchObject({ balance: 0, state: "FUNDING" });
    expect(await rows("select kind, amount, reversed from ledger_lines where did = ?", did)).toEqual([
      { kind: "deposit", amount: THRESHOLD, reversed: 1 },
    ]);
    expect(await alertsOf("chain_reorganised")).toEqual([expect.objectContaining({ subject: `ledger on ${LAB}` })]);
    const told = await rows("select type from events where agent_did = ? and type = 'agent.escrow_state_changed'", did);
    expect(told).toHaveLength(2);
  });

  it("raises an alert even if no vault was moved in it", async () => {
    await settle();
    await followed();
    await rows("delete from alerts");
    await mine(3);
    await followed();
    await lab("anvil_rollback", 4);
    await mine(5);
    await followed();
    const message = expect.stringContaining("with them 0 movements");
    expect(await alertsOf("chain_reorganised")).toEqual([{ subject: `ledger on ${LAB}`, message }]);
  });

  it("leaves one line for a movement that came back in another block, and the follower goes on from there", async () => {
    const did = await provider();
    await settle();
    await followed();
    await deposit(did, 2 * UNIT, LAB);
    const sent = await newest();
    await settle();
    await followed();
    const [before] = await linesOf(did);
    await mineAgain(sent);
    await followed();
    await followed();
    const [line, ...others] = await linesOf(did);
    expect(others).toEqual([]);
    expect(line).toMatchObject({ tx_hash: sent.hash, kind: "deposit", amount: 2 * UNIT, number: 1, reversed: 0 });
    expect(line.block_number).toBe(before.block_number + 2);
    expect((await escrowOf(did)).balance).toBe(2 * UNIT);
    await deposit(did, UNIT, LAB);
    await settle();
    await followed();
    expect(await bookedOf(did)).toEqual([
      ["deposit", 2 * UNIT, 2 * UNIT],
      ["deposit", UNIT, 3 * UNIT],
    ]);
  });
});

/** A facilitated settlement that is booked. */
async function settled() {
  const pair = { consumer: await world.consumer(), provider: await world.provider({}, "GLOBAL-USDC", LAB) };
  const intent = await world.intent(pair.consumer, pair.provider, "10.00", { network: LAB });
  const options = { intentId: intent.intent_id, network: LAB };
  const tx = await payOnChain(pair.consumer.did, pair.provider.did, 10 * UNIT, options);
  await settle();
  const { transaction_id: id } = expectStatus(await asProvider(world, { ...pair, intent, tx }), 200);
  await followed();
  return { id, settlement: await settlementOf(id) };
}

/** Whether the job finds the deadline over. The clock of this chain may be ahead of the world's. */
const failed = ({ network, settlementKey }: SettlementRef): Promise<boolean> =>
  Promise.resolve(failUnpaidRefunds.record(world.deps, `${network} ${settlementKey}`)).then(
    () => true,
    (thrown) => {
      if (thrown instanceof Conflict) return false;
      throw thrown;
    },
  );

/** Removes the newest four blocks; the transaction comes back in another one. */
async function mineAgain({ hash, signed }: { hash: string; signed: string }): Promise<void> {
  await lab("evm_setAutomine", false);
  await lab("anvil_rollback", 4);
  await mine(2);
  expect(await lab("eth_sendRawTransaction", signed)).toBe(hash);
  await mine(1);
  await lab("evm_setAutomine", true);
  await settle();
}

describe("a refund that was awaited and paid", () => {
  it("is awaited again when its block is gone, done if it comes back, and unpaid if it does not", async () => {
    const { id, settlement } = await settled();
    const until = Date.now() + HOUR;
    const waiting = { status: "waiting", reason: null, tx_hash: null, next_check_at: until };
    await expectRefund(world, settlement, 5, until);
    await refundOf(id, 2, LAB);
    await settle();
    const tx = await refundOf(id, 3, LAB);
    const sent = await newest();
    await mine(1);
    await followed();
    // It still lacks confirmations.
    expect(await awaitedOf(settlement)).toEqual(waiting);
    await mine(2);
    await followed();
    const done = { status: "done", reason: null, tx_hash: tx, next_check_at: null };
    expect(await awaitedOf(settlement)).toEqual(done);
    await mineAgain(sent);
    expect(await rewound()).toBe(true);
    expect(await awaitedOf(settlement)).toEqual(waiting);
    await followed();
    expect(await awaitedOf(settlement)).toEqual(done);
    await lab("anvil_rollback", 4);
    await mine(5);
    await followed();
    await followed();
    expect(await awaitedOf(settlement)).toEqual(waiting);
    const [{ booked_at: readTo }] = (await rows("select booked_at from followers where network = ?", LAB)) as [Json];
    await expectRefund(world, settlement, 5, readTo - 1);
    expect(await failed(settlement)).toBe(true);
    expect(await awaitedOf(settlement)).toEqual({
      ...waiting,
      status: "failed",
      reason: "unpaid",
      next_check_at: null,
    });
  });

  it("stays done if the other refunds add up to the amount without it", async () => {
    const { id, settlement } = await settled();
    await expectRefund(world, settlement, 5);
    await refundOf(id, 5, LAB);
    await settle();
    await followed();
    const before = await awaitedOf(settlement);
    expect(before.status).toBe("done");
    await refundOf(id, 1, LAB);
    await settle();
    await followed();
    await lab("anvil_rollback", 4);
    await mine(5);
    expect(await rewound()).toBe(true);
    expect(await awaitedOf(settlement)).toEqual(before);
  });

  it("does not become unpaid before its new block is read, because the chain counts as read only to the kept block", async () => {
    const { id, settlement } = await settled();
    await refundOf(id, 5, LAB);
    const sent = await newest();
    // The blocks that the reorg removes are much later.
    await lab("anvil_mine", "0x3", "0x3e8");
    const until = Date.now() + HOUR / 6;
    await expectRefund(world, settlement, 5, until);
    await followed();
    expect((await awaitedOf(settlement)).status).toBe("done");
    const [before] = await rows("select booked_at, read_through from followers where network = ?", LAB);
    expect(before.booked_at).toBeGreaterThan(until);
    await mineAgain(sent);
    expect(await rewound()).toBe(true);
    expect(await failed(settlement)).toBe(false);
    const [after] = await rows("select booked_at, read_through from followers where network = ?", LAB);
    expect(after.booked_at).toBeLessThan(until);
    expect(after.read_through).toBeLessThanOrEqual(after.booked_at);
    await followed();
    expect((await awaitedOf(settlement)).status).toBe("done");
  });
});

describe("a booked refund", () => {
  it("is removed with its block, and booked once if it comes back", async () => {
    const { id, settlement } = await settled();
    const { settlementKey: key } = settlement;
    const sum = async () =>
      (await readBatch(world.deps.db, { sum: findRefundedAmount(world.deps.db, settlement) })).sum;
    await refundOf(id, 5, LAB);
    const sent = await newest();
    await settle();
    await followed();
    expect(await sum()).toBe(5);
    await mineAgain(sent);
    await followed();
    await followed();
    expect(await sum()).toBe(5);
    expect(await rows("select tx_hash from refunds where settlement_key = ?", key)).toEqual([{ tx_hash: sent.hash }]);
    await lab("anvil_rollback", 4);
    await mine(6);
    await followed();
    await followed();
    expect(await sum()).toBe(0);
  });
});

describe("a payment without its confirmations", () => {
  const buyers = async () => {
    const shop = await world.provider({}, "GLOBAL-USDC", LAB);
    const consumer = await buyer(world, dailyLimit("10.00"));
    const body = orderOf(consumer, shop, { network: LAB });
    const intent = expectStatus(await world.as(consumer, "POST", "/v1/payment-intents", body), 201);
    await payOnChain(consumer.did, shop.did, 10 * UNIT, { intentId: intent.intent_id, network: LAB });
    const held = async () =>
      (await rows("select expires_at from spend_holds where did = ?", consumer.did))[0]?.expires_at;
    const seen = async () =>
      (await rows("select status, payment_block from payment_intents where intent_id = ?", intent.intent_id))[0];
    return { intent, held, seen };
  };

  it("makes its intent PAID, and holds for another hour if a reorg removes it", async () => {
    const { intent, held, seen } = await buyers();
    await followed();
    expect([(await seen()).status, await held()]).toEqual(["PAID", Number.MAX_SAFE_INTEGER]);
    await lab("anvil_rollback", 1);
    await mine(2);
    await followed();
    expect(await seen()).toEqual({ status: "OPEN", payment_block: null });
    const [{ lost_until }] = await rows("select lost_until from payment_intents where intent_id = ?", intent.intent_id);
    expect([await held(), lost_until > Date.parse(intent.expires_at) + 50 * 60_000]).toEqual([lost_until, true]);
    const told = await rows("select object from events where type = 'intent.paid'");
    expect(told.filter(({ object }) => JSON.parse(object).intent_id === intent.intent_id)).toHaveLength(1);
  });

  it("lets the hold end with the intent if another transaction has its nonce, even if the payment had its confirmations", async () => {
    const { held, seen, intent } = await buyers();
    const ends = Date.parse(intent.expires_at);
    await lab("anvil_mine", "0x3", "0x3e8");
    await followed();
    expect((await seen()).status).toBe("PAID");
    await lab("anvil_rollback", 4);
    await mine(5);
    await followed();
    await followed();
    expect([await seen(), (await held()) > ends]).toEqual([{ status: "OPEN", payment_block: null }, true]);
    // Any transaction of the payer takes the nonce.
    await send(LAB, account(9), account(9), "0x");
    await followed();
    expect([await seen(), await held()]).toEqual([{ status: "OPEN", payment_block: null }, ends]);
  });

  it("stays bound if it comes back in another block", async () => {
    const { held, seen } = await buyers();
    const { hash, signed } = await newest();
    await followed();
    const before = (await seen()).payment_block;
    await lab("evm_setAutomine", false);
    await lab("anvil_rollback", 1);
    await mine(1);
    expect(await lab("eth_sendRawTransaction", signed)).toBe(hash);
    await mine(1);
    await lab("evm_setAutomine", true);
    await followed();
    expect([await seen(), await held()]).toEqual([
      { status: "PAID", payment_block: before + 1 },
      Number.MAX_SAFE_INTEGER,
    ]);
  });
});

describe("a node that reports another chain", () => {
  it("has nothing booked, and raises an alert", async () => {
    const did = await provider();
    await settle();
    await followed();
    const before = await rows("select * from followers where network = ?", LAB);
    await rows("update booked_blocks set hash = '0x00' where network = ?", LAB);
    await rows("update followers set booked_hash = '0x00' where network = ?", LAB);
    await deposit(did, UNIT, LAB);
    await settle();
    expect(await followed()).toBe(false);
    expect(await bookedOf(did)).toEqual([]);
    expect(await alertsOf("chain_reorganised")).toContainEqual(
      expect.objectContaining({ subject: `follower on ${LAB}` }),
    );
    expect((await rows("select booked_block from followers where network = ?", LAB))[0].booked_block).toBe(
      before[0].booked_block,
    );
  });
});

/** The transaction of the newest block. */
async function newest(): Promise<{ hash: string; signed: string }> {
  const { transactions } = await lab("eth_getBlockByNumber", "latest", false);
  const [hash] = transactions;
  return { hash, signed: await lab("debug_getRawTransaction", hash) };
}
