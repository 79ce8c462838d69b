// A reorg removes facilitated settlements for good, and all of their effects are undone (FAC-18). Only this file uses the network `lab-reversed`.
import { describe, expect, it } from "vitest";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate.ts";
import { packJws } from "../../src/protocol/jws.ts";
import { RECEIPT_TYPE } from "../../src/protocol/receipt.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { arbitrated, file, payOut, read, resolve } from "../disputes/support.ts";
import { asProvider, confirm, type Paid } from "../facilitation/support.ts";
import { buyer, dailyLimit, delegateOf, orderOf, spendState } from "../payments/support.ts";
import { deposit, livePrincipal, openLive, promoted, rows, under } from "../promotion/support.ts";
import { spoil } from "../support/chain.ts";
import { type Agent, expectStatus, type Json, type World } from "../support/world.ts";
import {
  DAY,
  eventsOf,
  HOUR,
  holdsOf,
  intentOf,
  MINUTE,
  type Reversals,
  ratingOf,
  sumsOf,
  taskOf,
  transactionOf,
  UNIT,
  useReversals,
} from "./reversals.ts";
import { escrowOf, linesOf } from "./support.ts";

const LAB = "lab-reversed";

let chain: Reversals;
let world: World;
useReversals(LAB, (opened) => {
  chain = opened;
  world = opened.world;
});

/** Compares numbers up to a relative error of 1e-9. */
function expectLike(found: Json, wanted: Json): void {
  for (const [name, value] of Object.entries(wanted)) {
    if (typeof value !== "number") expect([name, found[name]]).toEqual([name, value]);
    else expect(Math.abs(found[name] - value)).toBeLessThanOrEqual(1e-9 * Math.max(1, Math.abs(value)));
  }
}

describe("a facilitated settlement whose block is gone for good", () => {
  it("is reversed: its open task is void, and neither its escrow nor its spending counts any longer", async () => {
    const purchase = await chain.facilitated(await chain.pairOf(await buyer(world, dailyLimit("10.00"))), "10.00");
    const { consumer, provider: shop } = purchase;
    await chain.followed();
    expect(await escrowOf(shop.did)).toMatchObject({ balance: 999_500, contributed: 999_500 });
    await chain.takeAway(purchase);
    await chain.followed();
    expect((await transactionOf(purchase.id)).reversed_at).toEqual(expect.any(Number));
    expect(await taskOf(purchase.task)).toMatchObject({ status: "void", outcome: null, score: null, answer: "void" });
    expect(await linesOf(shop.did)).toEqual([]);
    expect(await escrowOf(shop.did)).toMatchObject({ balance: 0, contributed: 0, state: "FUNDING" });
    expect(await spendState(world, consumer.did)).toMatchObject([{ settled: 0, ledger: [] }]);
    expect(await intentOf(purchase)).toMatchObject({ status: "OPEN", transaction_id: null, task_id: null });
    expect(await ratingOf(shop.did)).toMatchObject({ rating_interactions: 0, agent_rating: null });
    const alerts = await rows("select subject from alerts where kind = 'settlement_reversed'");
    expect(alerts).toEqual([{ subject: `${purchase.id} on ${LAB}` }]);
    // Both agents are of one platform.
    expect(await eventsOf("transaction.reversed", purchase.id)).toEqual([
      expect.objectContaining({ status: "reversed", reversed_at: expect.any(String), tx_hash: purchase.tx }),
    ]);
    expect(await eventsOf("task.closed", purchase.id)).toEqual([expect.objectContaining({ status: "void" })]);
    const reply = await confirm(world, consumer, purchase.task);
    expect([reply.status, reply.body.code, reply.body.detail]).toEqual([409, "invalid_status", { status: "void" }]);
  });

  it("ends its open dispute without a winner", async () => {
    const purchase = await chain.facilitated(await chain.pairOf());
    await chain.followed();
    const body = { transaction_id: purchase.id, reason: "other", disputed_amount: "10" };
    const { dispute_id } = expectStatus(await world.call("POST", "/v1/disputes", { body }), 201);
    expect(await escrowOf(purchase.provider.did)).toMatchObject({ state: "CONSTRAINED", disputed: 10 * UNIT });
    await chain.takeAway(purchase);
    await chain.followed();
    expect(expectStatus(await world.call("GET", `/v1/disputes/${dispute_id}`), 200)).toMatchObject({
      status: "resolved",
      resolution: "withdrawn",
      refund_status: "none",
    });
    expect(await escrowOf(purchase.provider.did)).toMatchObject({ state: "FUNDING", disputed: 0, owed: 0 });
    expect(await taskOf(purchase.task)).toMatchObject({ status: "void", verdict: null });
    const counted = "select disputes_open, disputes_resolved_for, disputes_resolved_against from agents where did = ?";
    for (const { did } of [purchase.provider, purchase.consumer])
      expect(await rows(counted, did)).toEqual([
        { disputes_open: 0, disputes_resolved_for: 0, disputes_resolved_against: 0 },
      ]);
    const again = await world.call("POST", "/v1/disputes", { body });
    expect([again.status, again.body.code]).toEqual([404, "facilitation_not_found"]);
  });

  it("shows what is on the chain of its award, both when the payout is gone with it and when both come back", async () => {
    const purchase = await chain.facilitated(await chain.pairOf());
    await deposit(purchase.provider.did, 10 * UNIT, LAB);
    await chain.mine(3);
    await chain.followed();
    const { dispute_id: id } = expectStatus(await file(world, purchase, { disputed_amount: "9.00" }), 201);
    await arbitrated(world, { ...purchase, id });
    expectStatus(await resolve(world, id, { resolution: "upheld" }), 200);
    await payOut(world, id, LAB);
    await chain.mine(3);
    await chain.followed();
    const listed = async () => expectStatus(await world.as(purchase.consumer, "GET", "/v1/disputes"), 200).data;
    const shown = async () => [await read(world, purchase.consumer, id), ...(await listed())];
    const paidOut = (amount: string) => ({ dispute_id: id, paid_from_vault: amount });
    expect(await shown()).toMatchObject([{ ...paidOut("10.00"), award: expect.any(String) }, paidOut("10.00")]);
    const mined = await chain.minedSince(purchase.tx);
    await chain.takeAway(purchase);
    await chain.followed();
    const nothing = { resolution: "withdrawn", refund_status: "none", award: null };
    expect(await shown()).toMatchObject([{ ...nothing, ...paidOut("0.00") }, paidOut("0.00")]);
    await chain.mineAgain(mined);
    await chain.followed();
    expect(await shown()).toMatchObject([{ ...nothing, ...paidOut("10.00") }, paidOut("10.00")]);
  });

  it("is shown in the reports as reversed and void, and its receipt stays as history", async () => {
    const purchase = await chain.facilitated(await chain.pairOf());
    await chain.takeAway(purchase);
    await chain.followed();
    const path = `/v1/agents/${encodeURIComponent(purchase.provider.did)}`;
    const listed = async (of: string) => expectStatus(await world.call("GET", `${path}/${of}`), 200).data;
    expect(await listed("transactions")).toEqual([
      expect.objectContaining({ transaction_id: purchase.id, status: "reversed", reversed_at: expect.any(String) }),
    ]);
    const all = async (query: string) =>
      expectStatus(
        await world.call("GET", `/v1/transactions?did=${encodeURIComponent(purchase.provider.did)}&${query}`),
        200,
      ).data.map(({ transaction_id }: Json) => transaction_id);
    for (const query of ["status=reversed", "status=reversed&role=provider", "role=provider"])
      expect(await all(query)).toEqual([purchase.id]);
    for (const query of ["status=settled", "status=reversed&role=consumer"]) expect(await all(query)).toEqual([]);
    const isVoid = [expect.objectContaining({ task_id: purchase.task, status: "void" })];
    expect(await listed("tasks")).toEqual(isVoid);
    expect(await listed("tasks?status=void")).toEqual(isVoid);
    for (const status of ["open", "confirmed", "auto_confirmed"])
      expect(await listed(`tasks?status=${status}`)).toEqual([]);
    expect(await rows("select receipt from receipts where transaction_id = ?", purchase.id)).toEqual([
      { receipt: packJws(purchase.fac.receipt, RECEIPT_TYPE) },
    ]);
  });

  it("leaves an intent that ends unpaid, holds nothing, and rates no consumer for abandoning it", async () => {
    const purchase = await chain.facilitated(await chain.pairOf(await buyer(world, dailyLimit("10.00"))));
    const { consumer, provider: shop } = purchase;
    await chain.takeAway(purchase);
    await chain.followed();
    // It is held for another hour, because its transaction may be mined again.
    world.advance(59 * MINUTE);
    await chain.followed();
    await world.run(abandonIntents);
    expect(await intentOf(purchase)).toMatchObject({ status: "OPEN" });
    expect(await holdsOf(consumer.did)).toMatchObject([{ amount: 10 * UNIT }]);
    world.advance(2 * MINUTE);
    await chain.followed();
    await world.run(abandonIntents);
    expect(await intentOf(purchase)).toMatchObject({ status: "ABANDONED" });
    expect(await holdsOf(consumer.did)).toEqual([]);
    expect(await spendState(world, consumer.did)).toMatchObject([{ open: 0, settled: 0 }]);
    world.advance(2 * DAY);
    await world.run(rateAbandonedIntents);
    expect(await ratingOf(consumer.did)).toMatchObject({ rating_weight: 0 });
    world.offset = 0;
    await world.intent(consumer, shop, "10.00", { network: LAB });
  });

  it("undoes the signals of a confirmed task, as if the task had not been", async () => {
    const pair = await chain.pairOf();
    const before = await chain.facilitated(pair, "7.00");
    expectStatus(await confirm(world, pair.consumer, before.task, { outcome: "partial", score: 0.4 }), 200);
    await chain.followed();
    const dids = [pair.provider.did, pair.consumer.did];
    const state = () =>
      Promise.all(dids.flatMap((did) => [ratingOf(did), sumsOf(did).then((sums) => ({ ...sums[0] }))]));
    const [volume] = await rows("select settled_volumes from agents where did = ?", pair.provider.did);
    const wanted = await state();
    const purchase = await chain.facilitated(pair, "90.00");
    expectStatus(await confirm(world, pair.consumer, purchase.task), 200);
    expect((await ratingOf(pair.provider.did)).rating_interactions).toBe(2);
    await chain.takeAway(purchase);
    await chain.followed();
    const found = await state();
    for (const [at, row] of wanted.entries()) expectLike(found[at], row);
    expect(await rows("select settled_volumes from agents where did = ?", pair.provider.did)).toEqual([volume]);
    expect((await taskOf(purchase.task)).status).toBe("confirmed");
    expect(await eventsOf("task.closed", purchase.id)).toHaveLength(1);
    const threshold = (await escrowOf(pair.provider.did)).threshold;
    expect(threshold).toBe(15 * UNIT);
  });

  it("leaves an agent without any other task unrated, and without that counterparty", async () => {
    const purchase = await chain.facilitated(await chain.pairOf(), "500.00");
    const { consumer, provider: shop } = purchase;
    expectStatus(await confirm(world, consumer, purchase.task), 200);
    await chain.followed();
    expect(await escrowOf(shop.did)).toMatchObject({ state: "ACTIVE" });
    expect((await escrowOf(shop.did)).threshold).toBeLessThan(15 * UNIT);
    await chain.takeAway(purchase);
    await chain.followed();
    for (const { did } of [consumer, shop]) {
      expect(await ratingOf(did)).toEqual({
        ...{ rating_weight: 0, rating_weighted: 0, rating_interactions: 0, rating_counterparties: 0 },
        ...{ agent_rating: null, rating_heaviest: "[]" },
      });
      expect(await sumsOf(did)).toEqual([]);
    }
    expect(await escrowOf(shop.did)).toMatchObject({ balance: 0, threshold: 15 * UNIT, state: "FUNDING" });
    const turned = await rows(
      "select object from events where agent_did = ? and type = 'agent.escrow_state_changed'",
      shop.did,
    );
    expect(turned.map(({ object }) => JSON.parse(object).escrow_state)).toEqual(["ACTIVE", "FUNDING"]);
    const path = `/v1/agents/${encodeURIComponent(shop.did)}`;
    const { performance, escrow_state } = expectStatus(await world.call("GET", `${path}/overview`), 200);
    expect([performance.agent_rating, escrow_state]).toEqual([null, "FUNDING"]);
  });

  it("undoes the signals of an auto-confirmed task, and never gives those of a task whose end was not recorded", async () => {
    const [pair, other] = [await chain.pairOf(), await chain.pairOf()];
    const recorded = await chain.facilitated(pair);
    world.advance(72 * HOUR + MINUTE);
    await world.run(autoConfirmTasks);
    expect(await taskOf(recorded.task)).toMatchObject({ status: "auto_confirmed" });
    expect((await ratingOf(recorded.consumer.did)).rating_interactions).toBe(1);
    world.offset = 0;
    const late = await chain.facilitated(other);
    await chain.takeAway(recorded);
    world.advance(72 * HOUR + MINUTE);
    await chain.followed();
    for (const { consumer, provider: shop } of [recorded, late])
      for (const { did } of [consumer, shop])
        expect(await ratingOf(did)).toMatchObject({ rating_weight: 0, rating_interactions: 0, agent_rating: null });
    expect(await taskOf(recorded.task)).toMatchObject({ status: "auto_confirmed" });
    expect(await taskOf(late.task)).toMatchObject({ status: "void" });
    await world.run(autoConfirmTasks);
    expect(await taskOf(late.task)).toMatchObject({ status: "void" });
  });

  it("is reversed together with another provider's, and a settlement in an earlier block stays", async () => {
    const [pair, other, third] = [await chain.pairOf(), await chain.pairOf(), await chain.pairOf()];
    const kept = await chain.facilitated(third);
    const first = await chain.facilitated(pair);
    const second = await chain.facilitated({ ...other, consumer: first.consumer });
    await chain.followed();
    await chain.takeAway(first);
    await chain.followed();
    const reversed = await Promise.all(
      [kept, first, second].map(async ({ id }) => (await transactionOf(id)).reversed_at),
    );
    expect(reversed).toEqual([null, expect.any(Number), expect.any(Number)]);
    expect(await escrowOf(kept.provider.did)).toMatchObject({ balance: 999_500 });
    expect(await spendState(world, first.consumer.did)).toMatchObject([{ settled: 0, open: 20 * UNIT, ledger: [] }]);
  });

  it("counts as spent in no window of a delegation chain, whatever was spent since", async () => {
    const top = await buyer(world, dailyLimit("30.00"));
    const consumer = await delegateOf(world, top, dailyLimit("25.00"));
    const shop = await chain.provider();
    const later = await chain.paid({ consumer, provider: shop }, "12.00");
    const gone = await chain.facilitated({ consumer, provider: shop }, "10.00");
    expectStatus(await asProvider(world, later), 200);
    await chain.takeAway(gone);
    await chain.followed();
    for (const { did } of [top, consumer]) {
      const [sums] = await spendState(world, did);
      expect([sums?.settled, sums?.open]).toEqual([12 * UNIT, 10 * UNIT]);
      expect(sums?.ledger.map(({ total }) => total)).toEqual([12 * UNIT]);
    }
    const other = await delegateOf(world, top, dailyLimit("30.00"));
    const refusal = await world.as(
      other,
      "POST",
      "/v1/payment-intents",
      orderOf(other, shop, { amount: "8.01", network: LAB }),
    );
    expect([refusal.status, refusal.body.detail?.remaining]).toEqual([403, "8.00"]);
  });

  it("lowers the totals of what was spent after it", async () => {
    const consumer = await buyer(world, dailyLimit("30.00"));
    const pair = { consumer, provider: await chain.provider() };
    await chain.facilitated(pair, "5.00");
    const gone = await chain.facilitated(pair, "10.00");
    await chain.facilitated(pair, "3.00");
    await chain.followed();
    const totals = async () => (await spendState(world, consumer.did))[0]?.ledger.map(({ total }) => total);
    expect(await totals()).toEqual([5 * UNIT, 15 * UNIT, 18 * UNIT]);
    // The settlement after it is in a block that stays.
    await rows("update transactions set block_hash = 'another' where transaction_id = ?", gone.id);
    await rows("update followers set checked_receipt = 0 where network = ?", LAB);
    await chain.spoilReceipt(null);
    await chain.followed();
    await spoil(LAB);
    expect((await transactionOf(gone.id)).reversed_at).toEqual(expect.any(Number));
    expect(await totals()).toEqual([5 * UNIT, 8 * UNIT]);
    expect(await spendState(world, consumer.did)).toMatchObject([{ settled: 8 * UNIT }]);
  });

  it("is reversed once, however many runs there are at the same time", async () => {
    const [pair, other] = [await chain.pairOf(), await chain.pairOf()];
    const purchases = [await chain.facilitated(pair), await chain.facilitated(other)];
    await chain.followed();
    await chain.takeAway(purchases[0] as Paid);
    await Promise.all([chain.followed(), chain.followed(), chain.followed()]);
    await chain.followed();
    for (const { id, provider: shop } of purchases) {
      expect((await transactionOf(id)).reversed_at).toEqual(expect.any(Number));
      expect(await eventsOf("transaction.reversed", id)).toHaveLength(1);
      expect(await eventsOf("task.closed", id)).toHaveLength(1);
      expect(await escrowOf(shop.did)).toMatchObject({ balance: 0, contributed: 0 });
    }
  });
});

describe("a settlement in production", () => {
  it("is reversed as in the sandbox, and nothing moves in the other environment", async () => {
    const principal = await livePrincipal(world);
    const [shop, consumer] = [await chain.provider(), await world.consumer()];
    await openLive(world, shop.did, LAB);
    const live = async (agent: Agent) => under(agent, await promoted(world, agent.did, { principal_id: principal }));
    const other = await livePrincipal(world);
    const pair = {
      provider: await live(shop),
      consumer: under(consumer, await promoted(world, consumer.did, { principal_id: other })),
    };
    await deposit(shop.did, 15 * UNIT, LAB);
    await chain.mine(3);
    await chain.followed();
    const purchase = await chain.facilitated(pair);
    await chain.followed();
    expect((await transactionOf(purchase.id)).environment).toBe("production");
    expect(await spendState(world, consumer.did)).toMatchObject([{ settled: 10 * UNIT }]);
    await chain.takeAway(purchase);
    await chain.followed();
    expect((await transactionOf(purchase.id)).reversed_at).toEqual(expect.any(Number));
    expect(await escrowOf(shop.did, "production")).toMatchObject({ balance: 15 * UNIT, contributed: 0 });
    expect(await spendState(world, consumer.did)).toMatchObject([{ settled: 0, open: 10 * UNIT }]);
    expect(await eventsOf("transaction.reversed", purchase.id)).toEqual([
      expect.objectContaining({ environment: "production" }),
    ]);
  });
});
