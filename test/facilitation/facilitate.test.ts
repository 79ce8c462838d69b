// Facilitation: what it records, retries, races, late payments and its cost (FAC-1 to FAC-16).
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { hashIntent } from "../../src/chain/hashes.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { paymentIntents, tasks, transactions } from "../../src/db/tables/money.ts";
import { spendSums } from "../../src/db/tables/spending.ts";
import { verifyAid } from "../../src/protocol/aid.ts";
import { verifyReceipt } from "../../src/protocol/receipt.ts";
import { account } from "../support/chain.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, expectStatus, ISSUER, type World } from "../support/world.ts";
import {
  asClient,
  asConsumer,
  asProvider,
  facilitated,
  PATH,
  type Pair,
  paid,
  pairOf,
  refused,
  stateOf,
} from "./support.ts";

const [AT_ONCE, SEVERAL] = isWhole() ? [100, 20] : [20, 6];

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const keys = async () => (await world.deps.ca()).verification;

describe("the happy path", () => {
  it.each([
    ["the consumer's proof bound to the provider", asConsumer],
    ["the provider as itself, naming the intent", asProvider],
    ["the clients' form, without 0x and without an intent", asClient],
  ])("settles by %s", async (_, act) => {
    const purchase = await paid(world, await pairOf(world), "10.00", { named: act !== asClient });
    const fac = expectStatus(await act(world, purchase), 200);
    expect(fac).toEqual({
      facilitation_id: expect.stringMatching(/^fac_[0-9A-HJKMNP-TV-Z]{26}$/),
      transaction_id: fac.facilitation_id,
      intent_id: purchase.intent.intent_id,
      task_id: fac.facilitation_id.replace("fac_", "tsk_"),
      status: "settled",
      gross_amt: "10.00",
      fee_amt: "0.005",
      escrow_credited: "0.9995",
      operational_amt: "8.9955",
      currency: "USDC",
      escrow_state: "FUNDING",
      escrow_balance: "0.9995",
      as_of_block: expect.toSatisfy((block) => block === null || block > 0),
      confirm_by: expect.any(String),
      dispute_window_days: 14,
      dispute_window_closes_at: expect.any(String),
      provider_aid_version: expect.any(Number),
      tx_hash: purchase.tx,
      network: "base-sepolia",
      caip2: "eip155:84532",
      receipt: expect.any(String),
    });
    const state = await stateOf(world, purchase.provider.did);
    expect(state.intents[0]?.status).toBe("SETTLED");
    expect(state.escrows[0]).toMatchObject({ balance: 999_500, state: "FUNDING" });
    expect(state.tasks[0]).toMatchObject({ taskId: fac.task_id, status: "open" });
    const confirmBy = Date.parse(fac.confirm_by);
    expect(confirmBy - (state.tasks[0]?.openedAt ?? 0)).toBe(72 * HOUR_MS);
    expect(Date.parse(fac.dispute_window_closes_at) - (state.transactions[0]?.settledAt ?? 0)).toBe(14 * DAY_MS);
  });

  it("answers with a receipt that verifies offline, and a document that states the new balance", async () => {
    const { fac, tx, provider: seller } = await facilitated(world);
    const receipt = await verifyReceipt(fac.receipt, await keys(), { issuer: ISSUER });
    expect(receipt).toMatchObject({
      ok: true,
      claims: {
        jti: fac.facilitation_id,
        tx_hash: tx,
        gross_amt: "10.00",
        caip2: "eip155:84532",
        payer: account(9).toLowerCase(),
        operational_wallet: account(8).toLowerCase(),
      },
    });
    const aid = expectStatus(await world.call("GET", `/v1/agents/${seller.did}/aid`, { key: null }), 200);
    expect(aid.escrow.liability_profile).toMatchObject({ total_balance: "0.9995", escrow_state: "FUNDING" });
    expect((await verifyAid(aid, await keys(), { issuer: ISSUER })).ok).toBe(true);
    expect(aid.version).toBe(fac.provider_aid_version);
  });

  it("reports transaction.settled and task.opened once each", async () => {
    const { fac } = await facilitated(world);
    const { events } = await stateOf(world, "none");
    const about = events
      .filter((event) => event.object["transaction_id"] === fac.transaction_id)
      .map((event) => event.type);
    expect(about.sort()).toEqual(["task.opened", "transaction.settled"]);
  });

  it("brings the escrow to ACTIVE at its threshold, with an event and a change record", async () => {
    const pair = await pairOf(world);
    const { fac } = await facilitated(world, pair, "200.00");
    expect(fac).toMatchObject({ escrow_credited: "15.00", escrow_balance: "15.00", escrow_state: "ACTIVE" });
    const state = await stateOf(world, pair.provider.did);
    expect(state.escrows[0]?.state).toBe("ACTIVE");
    expect(state.feed.at(-1)?.changeType).toBe("updated");
    const moved = state.events.filter(
      (event) => event.type === "agent.escrow_state_changed" && event.object["did"] === pair.provider.did,
    );
    expect(moved).toHaveLength(1);
  });

  it("opens no task between two agents of one principal", async () => {
    const principal_id = await world.principal();
    const pair = { consumer: await world.consumer({ principal_id }), provider: await world.provider({ principal_id }) };
    const { fac } = await facilitated(world, pair);
    expect(fac).toMatchObject({ task_id: null, confirm_by: null, escrow_credited: "0.9995" });
    expect((await stateOf(world, pair.provider.did)).tasks).toHaveLength(0);
  });

  it("states a final sale if the dispute window is zero", async () => {
    const scope = { authorized_actions: ["sell"], capabilities: ["translation"], dispute_window_days: 0 };
    const { fac } = await facilitated(world, {
      consumer: await world.consumer(),
      provider: await world.provider({ scope }),
    });
    expect(fac).toMatchObject({ dispute_window_days: 0, dispute_window_closes_at: null });
  });

  it("records a payment whose counterparty was suspended meanwhile, because the money has moved", async () => {
    const purchase = await paid(world, await pairOf(world));
    expectStatus(
      await world.call("PATCH", `/v1/agents/${purchase.consumer.did}/status`, { body: { status: "SUSPENDED" } }),
      200,
    );
    expect((await asConsumer(world, purchase)).body.code).toBe("agent_not_active");
    expectStatus(await asProvider(world, purchase), 200);
  });

  it("lets the consumer record its payment if the provider was suspended meanwhile", async () => {
    const purchase = await paid(world, await pairOf(world));
    const suspend = { body: { status: "SUSPENDED" } };
    expectStatus(await world.call("PATCH", `/v1/agents/${purchase.provider.did}/status`, suspend), 200);
    expect((await asProvider(world, purchase)).body.code).toBe("agent_not_active");
    expectStatus(await asConsumer(world, purchase), 200);
  });

  it("writes the events of both parties' platforms", async () => {
    const elsewhere = await createWorld();
    const pair = { consumer: await elsewhere.consumer(), provider: await world.provider() };
    const { fac } = await facilitated(world, pair);
    for (const side of [world, elsewhere]) {
      const { events } = await stateOf(side, "none");
      const about = events.filter((event) => event.object["transaction_id"] === fac.transaction_id);
      expect(about.map((event) => event.type).sort()).toEqual(["task.opened", "transaction.settled"]);
    }
  });

  it("counts each settlement once it is facilitated, even an older one after a newer one", async () => {
    const pair = await pairOf(world);
    const first = await paid(world, pair, "10.00");
    const second = await paid(world, pair, "20.00");
    expect(expectStatus(await asProvider(world, second), 200).escrow_balance).toBe("1.999");
    expect(expectStatus(await asProvider(world, first), 200).escrow_balance).toBe("2.9985");
  });
});

describe("a retry", () => {
  it("answers the same, in either form, and changes nothing", async () => {
    const purchase = await facilitated(world);
    const before = await stateOf(world, purchase.provider.did);
    for (const act of [asConsumer, asProvider, asClient])
      expect((await act(world, purchase)).body).toEqual(purchase.fac);
    expect(await stateOf(world, purchase.provider.did)).toEqual(before);
  });

  it("with a captured proof gets the same answer and serves nothing else", async () => {
    const purchase = await paid(world, await pairOf(world));
    const other = await paid(world, purchase);
    const headers = await world.proveBound(purchase.consumer, purchase.provider.did);
    const send = ({ intent, tx }: typeof purchase) =>
      world.call("POST", PATH, { key: null, headers, body: { intent_id: intent.intent_id, payment_tx: tx } });
    const first = expectStatus(await send(purchase), 200);
    expect((await send(purchase)).body).toEqual(first);
    const refusal = await refused(world, [purchase.provider.did], () => send(other), 401, "aeap_verification_failed");
    expect(refusal.type).toBe("replay");
    const confirmed = await world.call("POST", `/v1/tasks/${first.task_id}/confirm`, {
      key: null,
      headers,
      body: { outcome: "confirmed" },
    });
    expect(confirmed).toMatchObject({ status: 401, body: { code: "aeap_verification_failed" } });
  });

  it("that another copy overtakes between its two trips gets the other's answer", async () => {
    for (const act of [asConsumer, asProvider, asClient]) {
      const purchase = await paid(world, await pairOf(world));
      let other: unknown;
      world.meter.beforeBatch(2, async () => {
        other = expectStatus(await asProvider(world, purchase), 200);
      });
      expect(expectStatus(await act(world, purchase), 200)).toEqual(other);
      expect((await stateOf(world, purchase.provider.did)).transactions).toHaveLength(1);
    }
  });

  it(`of ${AT_ONCE} copies at once, in mixed forms, settles once`, async () => {
    const purchase = await paid(world, await pairOf(world));
    const second = await world.intent(purchase.consumer, purchase.provider, "10.00");
    const acts = [
      asConsumer,
      asProvider,
      asClient,
      (w: World, p: typeof purchase) => asProvider(w, { ...p, intent: second }),
      (w: World, p: typeof purchase) => asClient(w, p, { network: "eip155:84532" }),
    ];
    const replies = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, i) => (acts[i % acts.length] ?? asProvider)(world, purchase)),
    );
    const good = replies.filter((reply) => reply.status === 200);
    expect(new Set(good.map((reply) => reply.body.facilitation_id)).size).toBe(1);
    const others = replies.filter((reply) => reply.status !== 200).map((reply) => `${reply.status} ${reply.body.code}`);
    expect(new Set(others)).toEqual(new Set(["409 settlement_verification_failed"]));
    const state = await stateOf(world, purchase.provider.did);
    expect(state.transactions).toHaveLength(1);
    expect(state.tasks).toHaveLength(1);
    expect(state.escrows[0]?.balance).toBe(999_500);
    expect(
      state.events.filter((event) => event.object["facilitation_id"] === good[0]?.body.facilitation_id),
    ).toHaveLength(2);
    const [spent] = await world.deps.db.select().from(spendSums).where(eq(spendSums.did, purchase.consumer.did));
    expect(spent).toMatchObject({ settled: 10_000_000, open: 10_000_000 });
  });

  it("of several purchases from one provider at once settles all, and the database refuses none of their batches", async () => {
    const seller = await world.provider();
    const purchases = [];
    for (let i = 0; i < SEVERAL; i++) purchases.push(await paid(world, await pairOf(world, seller), "1.00"));
    world.meter.reset();
    const replies = await Promise.all(purchases.map((purchase) => asProvider(world, purchase)));
    const { trips, refused: refusals } = world.meter.reading;
    expect(replies.map((reply) => reply.status)).toEqual(purchases.map(() => 200));
    // A refused batch is retried, so only the meter shows it.
    expect({ trips, refusals }).toEqual({ trips: 2 * purchases.length, refusals: 0 });
    const state = await stateOf(world, seller.did);
    expect(state.escrows[0]?.balance).toBe(SEVERAL * 99_950);
  });
});

describe("a late facilitation", () => {
  const endingAt = async (purchase: { intent: { intent_id: string } }, expiresAt: number) =>
    world.deps.db
      .update(paymentIntents)
      .set({ expiresAt })
      .where(eq(paymentIntents.intentId, purchase.intent.intent_id));
  const minedAt = async (tx: string) => {
    const reading = await world.deps.chain.readSettlement("base-sepolia", tx);
    if (!reading.ok || reading.value.state !== "mined") throw new Error("not mined");
    return reading.value.minedAt;
  };

  it("accepts a payment mined within 30 seconds after the end, and refuses a later one", async () => {
    const GRACE = 30_000;
    const honoured = await paid(world, await pairOf(world));
    await endingAt(honoured, (await minedAt(honoured.tx)) - GRACE + 1);
    expectStatus(await asProvider(world, honoured), 200);
    const late = await paid(world, await pairOf(world));
    await endingAt(late, (await minedAt(late.tx)) - GRACE);
    await refused(world, [late.provider.did], () => asProvider(world, late), 409, "intent_expired");
    await refused(world, [late.provider.did], () => asClient(world, late), 409, "intent_expired");
    const unnamed = await paid(world, await pairOf(world), "10.00", { named: false });
    await endingAt(unnamed, (await minedAt(unnamed.tx)) - GRACE);
    const client = () => asClient(world, unnamed);
    await refused(world, [unnamed.provider.did], client, 409, "settlement_verification_failed");
  });
});

describe("the cost", () => {
  it("is two trips within the budget, and does not grow with the history", async () => {
    const pair = await pairOf(world);
    const measure = async (act: typeof asProvider) => {
      const purchase = await paid(world, pair, "1.00");
      world.meter.reset();
      expectStatus(await act(world, purchase), 200);
      const { trips, rowsRead, rowsWritten } = world.meter.reading;
      return { trips, rowsRead, rowsWritten };
    };
    await measure(asProvider);
    const first = [await measure(asProvider), await measure(asClient), await measure(asConsumer)];
    await fill(pair, 300);
    const later = [await measure(asProvider), await measure(asClient), await measure(asConsumer)];
    for (const reading of later) {
      expect(reading.trips).toBe(2);
      expect(reading.rowsRead).toBeLessThanOrEqual(25);
      expect(reading.rowsWritten).toBeLessThanOrEqual(25);
    }
    expect(later.map((one) => one.rowsRead)).toEqual(first.map((one) => one.rowsRead));
    expect(later.map((one) => one.rowsWritten)).toEqual(first.map((one) => one.rowsWritten));
  });

  /** Writes a long history of the pair: settled, abandoned and closed. */
  async function fill(pair: Pair, n: number): Promise<void> {
    const { db } = world.deps;
    const [intent] = await db
      .select()
      .from(paymentIntents)
      .where(eq(paymentIntents.providerDid, pair.provider.did))
      .limit(1);
    const [transaction] = await db
      .select()
      .from(transactions)
      .where(eq(transactions.providerDid, pair.provider.did))
      .limit(1);
    const [task] = await db.select().from(tasks).where(eq(tasks.providerDid, pair.provider.did)).limit(1);
    if (!intent || !transaction || !task) throw new Error("no first purchase");
    const past = Array.from({ length: n }, (_, i) => {
      const id = `old${String(i).padStart(6, "0")}`;
      return [
        db.insert(paymentIntents).values({
          ...intent,
          intentId: `pin_${id}`,
          intentHash: hashIntent(id),
          status: i % 2 ? "SETTLED" : "ABANDONED",
          amount: 2_000_000,
          createdAt: 1,
          expiresAt: 2,
        }),
        db.insert(transactions).values({
          ...transaction,
          transactionId: `fac_${id}`,
          intentId: `pin_${id}`,
          taskId: `tsk_${id}`,
          txHash: hashIntent(id),
        }),
        db.insert(tasks).values({ ...task, taskId: `tsk_${id}`, transactionId: `fac_${id}`, status: "confirmed" }),
      ];
    }).flat();
    await db.batch(past as never);
  }
});
