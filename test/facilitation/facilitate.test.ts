// Specification 4, Facilitation, and contract section 6.
import { eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { intentHash } from "../../src/chain/hashes.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { agents } from "../../src/db/tables/agents.ts";
import { paymentIntents, spendSums, tasks, transactions } from "../../src/db/tables/money.ts";
import { verifyAid } from "../../src/protocol/aid.ts";
import { verifyReceipt } from "../../src/protocol/receipt.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, createWorld, expectStatus, ISSUER, type World } from "../support/world.ts";
import {
  asClient,
  asConsumer,
  asProvider,
  facilitated,
  mined,
  PATH,
  type Pair,
  paid,
  pairOf,
  refused,
  stateOf,
} from "./support.ts";

let world: World;
let provider: Agent;
beforeAll(async () => {
  world = await createWorld();
  provider = await world.provider();
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

  it("answers a receipt that verifies offline and a document that states the new balance", async () => {
    const { fac, tx, provider: seller } = await facilitated(world);
    const receipt = await verifyReceipt(fac.receipt, await keys(), { issuer: ISSUER });
    expect(receipt).toMatchObject({
      ok: true,
      claims: { jti: fac.facilitation_id, tx_hash: tx, gross_amt: "10.00", caip2: "eip155:84532" },
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

  it("states a final sale where the window is zero", async () => {
    const scope = { authorized_actions: ["sell"], capabilities: ["translation"], dispute_window_days: 0 };
    const { fac } = await facilitated(world, {
      consumer: await world.consumer(),
      provider: await world.provider({ scope }),
    });
    expect(fac).toMatchObject({ dispute_window_days: 0, dispute_window_closes_at: null });
  });

  it("records a payment whose counterparty was suspended meanwhile: it is paid", async () => {
    const purchase = await paid(world, await pairOf(world));
    expectStatus(
      await world.call("PATCH", `/v1/agents/${purchase.consumer.did}/status`, { body: { status: "SUSPENDED" } }),
      200,
    );
    expect((await asConsumer(world, purchase)).body.code).toBe("agent_not_active");
    expectStatus(await asProvider(world, purchase), 200);
  });

  it("lets the consumer record its payment when the provider was suspended meanwhile", async () => {
    const purchase = await paid(world, await pairOf(world));
    const suspend = { body: { status: "SUSPENDED" } };
    expectStatus(await world.call("PATCH", `/v1/agents/${purchase.provider.did}/status`, suspend), 200);
    expect((await asProvider(world, purchase)).body.code).toBe("agent_not_active");
    expectStatus(await asConsumer(world, purchase), 200);
  });

  it("tells the platforms of both parties", async () => {
    const elsewhere = await createWorld();
    const pair = { consumer: await elsewhere.consumer(), provider: await world.provider() };
    const { fac } = await facilitated(world, pair);
    for (const side of [world, elsewhere]) {
      const { events } = await stateOf(side, "none");
      const about = events.filter((event) => event.object["transaction_id"] === fac.transaction_id);
      expect(about.map((event) => event.type).sort()).toEqual(["task.opened", "transaction.settled"]);
    }
  });

  it("never lowers the balance when an older settlement is facilitated after a newer one", async () => {
    const pair = await pairOf(world);
    const first = await paid(world, pair, "10.00");
    const second = await paid(world, pair, "20.00");
    expect(expectStatus(await asProvider(world, second), 200).escrow_balance).toBe("2.9985");
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

  it("with a captured proof answers the same and serves nothing else", async () => {
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

  it("a hundred at once, in mixed forms, settle once", async () => {
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
      Array.from({ length: 100 }, (_, i) => (acts[i % acts.length] ?? asProvider)(world, purchase)),
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

  it("twenty purchases from one provider at once all settle", async () => {
    const seller = await world.provider();
    const purchases = [];
    for (let i = 0; i < 20; i++) purchases.push(await paid(world, await pairOf(world, seller), "1.00"));
    const replies = await Promise.all(purchases.map((purchase) => asProvider(world, purchase)));
    expect(replies.map((reply) => reply.status)).toEqual(purchases.map(() => 200));
    const state = await stateOf(world, seller.did);
    expect(state.escrows[0]?.balance).toBe(20 * 99_950);
  });
});

describe("refusals, which change nothing", () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await pairOf(world);
  });
  const no = (act: () => ReturnType<typeof asProvider>, status: number, code: string) =>
    refused(world, [pair.provider.did, pair.consumer.did], act, status, code);

  it("an unknown intent is 404", async () => {
    const purchase = await paid(world, pair);
    await no(
      () => asProvider(world, { ...purchase, intent: { intent_id: "pin_00000000000000000000000000" } }),
      404,
      "not_found",
    );
  });

  it("a transaction that nobody knows, or that is on another network, is payment_not_found with its detail", async () => {
    const purchase = await paid(world, pair);
    const unknown = await no(
      () => asProvider(world, { ...purchase, tx: `0x${"ab".repeat(32)}` }),
      409,
      "payment_not_found",
    );
    expect(unknown.detail).toEqual({ state: "unknown", confirmations: 0, required: 1, retry_after: 2 });
    const elsewhere = await no(
      () => asClient(world, { ...purchase, tx: `0x${"ab".repeat(32)}` }),
      409,
      "payment_not_found",
    );
    expect(elsewhere.detail.state).toBe("unknown");
    expectStatus(await asProvider(world, purchase), 200);
  });

  it("another amount is amount_mismatch for a named intent and no match for the client form", async () => {
    const intent = await world.intent(pair.consumer, pair.provider, "7.77");
    const tx = await payOnChain(pair.consumer.did, pair.provider.did, 7_770_001);
    await mined(tx);
    const mismatch = await no(() => asProvider(world, { ...pair, intent, tx }), 409, "amount_mismatch");
    expect(mismatch.detail).toEqual({ expected: "7.77", settled: "7.770001" });
    await no(() => asClient(world, { ...pair, intent, tx }), 409, "settlement_verification_failed");
  });

  it("a payment of another pair, or naming another intent, does not settle this one", async () => {
    const intent = await world.intent(pair.consumer, pair.provider, "3.00");
    const other = await world.consumer();
    const stray = await payOnChain(other.did, pair.provider.did, 3_000_000);
    await mined(stray);
    await no(() => asProvider(world, { ...pair, intent, tx: stray }), 409, "settlement_verification_failed");
    const named = await payOnChain(pair.consumer.did, pair.provider.did, 3_000_000, { intentId: "pin_other" });
    await mined(named);
    expect(
      (await no(() => asProvider(world, { ...pair, intent, tx: named }), 409, "settlement_verification_failed")).detail
        .failed_check,
    ).toBe("other_intent");
  });

  it("one transaction for two intents, or two transactions for one, is refused", async () => {
    const done = await facilitated(world, pair);
    const second = await paid(world, pair);
    await no(() => asProvider(world, { ...done, intent: second.intent }), 409, "settlement_verification_failed");
    await no(() => asProvider(world, { ...done, tx: second.tx }), 409, "settlement_verification_failed");
  });

  it("a network that is not the intent's, or that nobody knows", async () => {
    const purchase = await paid(world, pair);
    const say = (network: string) => () =>
      world.as(pair.provider, "POST", PATH, { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx, network });
    await no(say("base"), 409, "settlement_verification_failed");
    await no(say("atlantis"), 409, "settlement_verification_failed");
    expectStatus(await say("eip155:84532")(), 200);
  });

  it("a proof bound to somebody else, or stale, is proof_invalid", async () => {
    const purchase = await paid(world, pair);
    const bound = await world.proveBound(pair.consumer, provider.did);
    const body = { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx };
    await no(() => world.call("POST", PATH, { key: null, headers: bound, body }), 401, "proof_invalid");
    const stale = {
      ...(await world.proveBound(pair.consumer, pair.provider.did)),
      "AEAP-Timestamp": String(Math.floor(Date.now() / 1000) - 31),
    };
    await no(() => world.call("POST", PATH, { key: null, headers: stale, body }), 401, "proof_invalid");
  });

  it("a certificate alone, which is public, asks the chain nothing and learns nothing", async () => {
    const purchase = await paid(world, pair);
    const chain = world.deps.chain as { readSettlement: typeof world.deps.chain.readSettlement };
    const read = chain.readSettlement;
    let asked = 0;
    chain.readSettlement = (...input) => {
      asked += 1;
      return read(...input);
    };
    try {
      const client = {
        provider_did: pair.provider.did,
        consumer_did: pair.consumer.did,
        tx_hash: purchase.tx,
        network: "base-sepolia",
      };
      const named = { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx };
      for (const body of [client, named]) {
        for (const [agent, code] of [
          [pair.provider, "aeap_verification_failed"],
          [pair.consumer, "proof_invalid"],
        ] as const) {
          const headers = { ...(await world.proveBound(agent, provider.did)), "AEAP-Proof": "MEUCIQ==" };
          await no(() => world.call("POST", PATH, { key: null, headers, body }), 401, code);
        }
      }
      expect(asked).toBe(0);
    } finally {
      chain.readSettlement = read;
    }
  });

  it("a body that names another agent than the certificate is 401, and a stranger is 403", async () => {
    const purchase = await paid(world, pair);
    await no(() => asClient(world, purchase, { provider_did: provider.did }), 401, "aeap_verification_failed");
    const named = { intent_id: purchase.intent.intent_id, payment_tx: purchase.tx };
    await no(
      () => world.as(pair.provider, "POST", PATH, { ...named, provider_did: provider.did }),
      401,
      "aeap_verification_failed",
    );
    await no(() => world.as(provider, "POST", PATH, named), 403, "forbidden");
  });

  it("no certificate, or a management key, is certificate_required", async () => {
    await no(
      () => world.call("POST", PATH, { body: { intent_id: "pin_x", payment_tx: `0x${"1".repeat(64)}` } }),
      401,
      "certificate_required",
    );
  });

  it("names every field that the chosen form is missing", async () => {
    const fields = async (body: unknown) =>
      (await world.as(pair.provider, "POST", PATH, body)).body.field_errors?.map(
        (fault: { field: string; code: string }) => `${fault.field} ${fault.code}`,
      );
    expect(await fields({})).toEqual(["intent_id required", "payment_tx required"]);
    expect(await fields({ provider_did: pair.provider.did })).toEqual([
      "consumer_did required",
      "network required",
      "tx_hash required",
    ]);
    expect(await fields({ intent_id: "pin_x", payment_tx: "0x12" })).toEqual(["payment_tx invalid_format"]);
    expect(await fields({ intent_id: "pin_x", payment_tx: `0x${"1".repeat(64)}`, more: 1 })).toEqual([
      "more unknown_field",
    ]);
  });

  it("agents of two environments", async () => {
    const purchase = await paid(world, await pairOf(world));
    await world.deps.db.update(agents).set({ environment: "production" }).where(eq(agents.did, purchase.consumer.did));
    await refused(world, [purchase.provider.did], () => asProvider(world, purchase), 409, "environment_mismatch");
    await refused(world, [purchase.provider.did], () => asClient(world, purchase), 409, "environment_mismatch");
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

  it("honours a payment mined in time, and refuses one mined at the end or after it", async () => {
    const honoured = await paid(world, await pairOf(world));
    await endingAt(honoured, (await minedAt(honoured.tx)) + 1);
    expectStatus(await asProvider(world, honoured), 200);
    const late = await paid(world, await pairOf(world));
    await endingAt(late, await minedAt(late.tx));
    await refused(world, [late.provider.did], () => asProvider(world, late), 409, "intent_expired");
    await refused(world, [late.provider.did], () => asClient(world, late), 409, "settlement_verification_failed");
  });
});

describe("its cost", () => {
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

  /** A long history of the pair: settled, abandoned and closed. */
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
    for (let i = 0; i < n; i++) {
      const id = `old${String(i).padStart(6, "0")}${Math.random()}`;
      await db.batch([
        db.insert(paymentIntents).values({
          ...intent,
          intentId: `pin_${id}`,
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
          txHash: intentHash(id),
        }),
        db.insert(tasks).values({ ...task, taskId: `tsk_${id}`, transactionId: `fac_${id}`, status: "confirmed" }),
      ]);
    }
  }
});
