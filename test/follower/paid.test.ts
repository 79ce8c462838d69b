// A payment that the follower sees makes its intent PAID: its hold has no end, and the payment is facilitated for that intent only (PAY-21).
import { beforeAll, describe, expect, it } from "vitest";
import { spendPaidIntents } from "../../src/payments/abandon.ts";
import { asClient, asProvider, type Pair, paid, pairOf } from "../facilitation/support.ts";
import { buyer, dailyLimit, openIntent, spendState } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { payOnChain } from "../support/chain.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";
import { follow } from "./support.ts";

const DAY = 86_400_000;
const UNIT = 1_000_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const readBy = async ({ consumer }: Pair, intent: Json): Promise<Json> =>
  expectStatus(await world.as(consumer, "GET", `/v1/payment-intents/${intent.intent_id}`), 200);
const toldOf = async (intent: Json, type: string): Promise<Json[]> =>
  (await rows("select type, object from events where type = ?", type))
    .map(({ object }) => JSON.parse(object))
    .filter(({ intent_id }) => intent_id === intent.intent_id);
const limited = async (limit: string): Promise<Pair> => ({
  consumer: await buyer(world, dailyLimit(limit)),
  provider: await world.provider(),
});
const failedCheck = ({ status, body }: { status: number; body: Json }) => [
  status,
  body.code,
  body.detail?.failed_check,
];

describe("a payment that is seen", () => {
  it("makes its intent PAID, with its transaction and instant, and sends both parties one event", async () => {
    const pair = await pairOf(world);
    const { intent, tx } = await paid(world, pair, "10.00");
    expect([intent.payment, intent.hold_released]).toEqual([null, false]);
    await follow(world);
    await follow(world);
    const shown = await readBy(pair, intent);
    expect(shown).toEqual({
      ...intent,
      status: "PAID",
      payment: { tx_hash: tx, mined_at: expect.any(String) },
    });
    expect(await toldOf(intent, "intent.paid")).toEqual([shown]);
    const [other] = await rows(
      "select payment_tx, payment_log from payment_intents where intent_id = ?",
      intent.intent_id,
    );
    expect(other.payment_tx).toBe(tx);
  });

  it("pays the newest open intent of its terms if it names none", async () => {
    const pair = await pairOf(world);
    const older = await world.intent(pair.consumer, pair.provider, "7.00");
    const { intent } = await paid(world, pair, "7.00", { named: false });
    await follow(world);
    expect((await readBy(pair, older)).status).toBe("OPEN");
    expect((await readBy(pair, intent)).status).toBe("PAID");
    await payOnChain(pair.consumer.did, pair.provider.did, 7 * UNIT);
    await follow(world);
    expect((await readBy(pair, older)).status).toBe("PAID");
    // No intent is left for a third payment.
    await payOnChain(pair.consumer.did, pair.provider.did, 7 * UNIT);
    await expect(follow(world)).resolves.toBe(true);
  });

  it("binds no intent if its amount or its parties differ", async () => {
    const pair = await pairOf(world);
    const intent = await world.intent(pair.consumer, pair.provider, "5.00");
    await payOnChain(pair.consumer.did, pair.provider.did, 6 * UNIT, { intentId: intent.intent_id });
    await payOnChain(pair.consumer.did, pair.provider.did, 6 * UNIT);
    await payOnChain(pair.provider.did, pair.provider.did, 5 * UNIT);
    await follow(world);
    expect((await readBy(pair, intent)).status).toBe("OPEN");
  });

  it("changes nothing after it was facilitated", async () => {
    const pair = await pairOf(world);
    const purchase = await paid(world, pair);
    expectStatus(await asProvider(world, purchase), 200);
    await follow(world);
    expect(await readBy(pair, purchase.intent)).toMatchObject({ status: "SETTLED", payment: null });
    expect(await toldOf(purchase.intent, "intent.paid")).toEqual([]);
  });
});

describe("a PAID intent", () => {
  it("holds its amount without an end, and counts as spent once it is facilitated", async () => {
    const pair = await limited("10.00");
    const purchase = await paid(world, pair, "10.00");
    await follow(world);
    try {
      world.offset = 2 * DAY;
      await follow(world);
      expect((await openIntent(world, pair.consumer, pair.provider, "1.00")).body.detail).toMatchObject({
        failed_check: "spending_limit",
        remaining: "0.00",
      });
      expect((await readBy(pair, purchase.intent)).status).toBe("PAID");
      // A payment that was not seen is honoured for a day, this one for thirty.
      expectStatus(await asProvider(world, purchase), 200);
    } finally {
      world.offset = 0;
    }
    const [state] = await spendState(world, pair.consumer.did);
    expect([state?.open, state?.holds, state?.settled]).toEqual([0, [], 10 * UNIT]);
  });

  it("counts as spent after 30 days without a facilitation, and is no longer facilitated", async () => {
    const pair = await limited("10.00");
    const purchase = await paid(world, pair, "10.00");
    await follow(world);
    try {
      world.offset = 30 * DAY + 3_600_000;
      expect(failedCheck(await asProvider(world, purchase)).slice(0, 2)).toEqual([409, "intent_expired"]);
      await world.run(spendPaidIntents);
      await world.run(spendPaidIntents);
      const [state] = await spendState(world, pair.consumer.did);
      expect([state?.open, state?.holds, state?.settled]).toEqual([0, [], 10 * UNIT]);
      expect((await openIntent(world, pair.consumer, pair.provider, "1.00")).status).toBe(403);
      world.offset += 2 * DAY;
      expect((await openIntent(world, pair.consumer, pair.provider, "1.00")).status).toBe(201);
    } finally {
      world.offset = 0;
    }
  });

  it("is settled only by its own payment, in either form, and that payment settles no other intent", async () => {
    const pair = await pairOf(world);
    const first = await paid(world, pair, "3.00", { named: false });
    await follow(world);
    const second = await paid(world, pair, "3.00", { named: false });
    expect(failedCheck(await asProvider(world, { ...first, tx: second.tx }))).toEqual([
      409,
      "settlement_verification_failed",
      "paid_by_other_payment",
    ]);
    expect(failedCheck(await asProvider(world, { ...second, tx: first.tx }))).toEqual([
      409,
      "settlement_verification_failed",
      "bound_to_other_intent",
    ]);
    // The client form names no intent: the payment finds its own, even if there is a newer one.
    const settled = expectStatus(await asClient(world, first), 200);
    expect(settled.intent_id).toBe(first.intent.intent_id);
    expect(expectStatus(await asClient(world, second), 200).intent_id).toBe(second.intent.intent_id);
  });

  it("keeps its hold although its provider was revoked", async () => {
    const pair = await limited("10.00");
    const purchase = await paid(world, pair, "10.00");
    expectStatus(await world.call("POST", `/v1/agents/${pair.provider.did}/revoke`, { body: { reason: "test" } }), 200);
    await follow(world);
    expect((await readBy(pair, purchase.intent)).status).toBe("PAID");
    const [before] = await spendState(world, pair.consumer.did);
    expect([before?.open, before?.holds.length]).toEqual([10 * UNIT, 1]);
  });
});

describe("a payment that was seen after its intent's end", () => {
  it("makes the intent PAID if it was mined before the end, and holds again what was released", async () => {
    const pair = await limited("10.00");
    const { intent } = await paid(world, pair, "10.00");
    await rows("update payment_intents set status = 'ABANDONED' where intent_id = ?", intent.intent_id);
    await rows("delete from spend_holds where intent_id = ?", intent.intent_id);
    await rows("update spend_sums set open = 0 where did = ?", pair.consumer.did);
    await follow(world);
    expect((await readBy(pair, intent)).status).toBe("PAID");
    const [state] = await spendState(world, pair.consumer.did);
    expect([state?.open, state?.holds.length]).toEqual([10 * UNIT, 1]);
  });

  it("changes nothing if it was mined after the end", async () => {
    const pair = await pairOf(world);
    const { intent } = await paid(world, pair, "4.00");
    await rows("update payment_intents set expires_at = expires_at - 400000 where intent_id = ?", intent.intent_id);
    await follow(world);
    expect((await readBy(pair, intent)).status).toBe("ABANDONED");
  });
});
