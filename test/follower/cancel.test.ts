// Either party cancels an intent that nobody has paid: the chain is looked at first, and what comes later settles nothing (PAY-23).
import { beforeAll, describe, expect, it } from "vitest";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate-abandoned.ts";
import { overtaken } from "../disputes/instants.ts";
import { asClient, asProvider, type Paid, paid, pairOf } from "../facilitation/support.ts";
import { buyer, dailyLimit, delegateOf, openIntent, spendState } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { payOnChain } from "../support/chain.ts";
import { isWhole } from "../support/scale.ts";
import { withSilentChain } from "../support/variants.ts";
import { type Agent, createWorld, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { follow } from "./support.ts";

const DAY = 86_400_000;
const UNIT = 1_000_000;
const AT_ONCE = isWhole() ? 50 : 8;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const pathOf = (intent: Json) => `/v1/payment-intents/${intent.intent_id}`;
const cancel = (agent: Agent, intent: Json, of = world, headers: Record<string, string> = {}): Promise<Reply> =>
  of.as(agent, "POST", `${pathOf(intent)}/cancel`, undefined, headers);
const shown = async (agent: Agent, intent: Json): Promise<Json> =>
  expectStatus(await world.as(agent, "GET", pathOf(intent)), 200);
const toldOf = async (intent: Json): Promise<Json[]> =>
  (await rows("select object from events where type = 'intent.abandoned'"))
    .map(({ object }) => JSON.parse(object))
    .filter(({ intent_id }) => intent_id === intent.intent_id);
const outcome = ({ status, body }: Reply) => [status, body.code];
const unratedOf = async (intent: Json): Promise<boolean> => {
  const [row] = await rows("select abandon_rated from payment_intents where intent_id = ?", intent.intent_id);
  return row.abandon_rated === 0;
};

describe("an open intent", () => {
  it.each(["consumer", "provider"] as const)("is cancelled by its %s, and its hold is gone at once", async (side) => {
    const pair = { consumer: await buyer(world, dailyLimit("10.00")), provider: await world.provider() };
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    expect((await openIntent(world, pair.consumer, pair.provider, "1.00")).status).toBe(403);
    const cancelled = expectStatus(await cancel(pair[side], intent), 200);
    expect(cancelled).toEqual({
      ...intent,
      status: "ABANDONED",
      hold_released: true,
      cancelled_at: expect.any(String),
    });
    expect(await shown(pair.provider, intent)).toEqual(cancelled);
    expect(await toldOf(intent)).toEqual([cancelled]);
    const [state] = await spendState(world, pair.consumer.did);
    expect([state?.open, state?.holds]).toEqual([0, []]);
    expect((await openIntent(world, pair.consumer, pair.provider, "10.00")).status).toBe(201);
  });

  it("gives every window of its chain back what it held", async () => {
    const delegator = await buyer(world, dailyLimit("10.00"));
    const delegate = await delegateOf(world, delegator, dailyLimit("10.00"));
    const provider = await world.provider();
    const intent = await world.intent(delegate, provider, "10.00");
    expectStatus(await cancel(provider, intent), 200);
    const states = await spendState(world, delegator.did, delegate.did);
    expect(states.map(({ open, holds }) => [open, holds])).toEqual([
      [0, []],
      [0, []],
    ]);
  });

  it("is rated where its own consumer gave it up, and not where the provider did", async () => {
    const { consumer, provider } = await pairOf(world);
    const [own, taken, offered] = [
      await world.intent(consumer, provider, "1.00"),
      await world.intent(consumer, provider, "1.00"),
      expectStatus(
        await world.as(provider, "POST", "/v1/payment-intents", {
          consumer_did: consumer.did,
          provider_did: provider.did,
          amount: "1.00",
          currency: "USDC",
        }),
        201,
      ),
    ];
    expectStatus(await cancel(consumer, own), 200);
    expectStatus(await cancel(provider, taken), 200);
    expectStatus(await cancel(consumer, offered), 200);
    expect([await unratedOf(own), await unratedOf(taken), await unratedOf(offered)]).toEqual([true, false, true]);
    try {
      world.offset = 2 * DAY;
      await world.run(abandonIntents);
      await world.run(rateAbandonedIntents);
    } finally {
      world.offset = 0;
    }
    // The one that the provider opened rates nobody: it was never the consumer's will.
    expect([await unratedOf(own), await unratedOf(offered)]).toEqual([false, true]);
    expect(await toldOf(own)).toHaveLength(1);
  });
});

describe("what was paid", () => {
  it("is not cancelled, also where nobody has seen the payment yet: 409 with the transaction", async () => {
    const pair = await pairOf(world);
    const { intent, tx } = await paid(world, pair);
    expect((await shown(pair.consumer, intent)).status).toBe("OPEN");
    for (const side of ["consumer", "provider"] as const) {
      const answer = await cancel(pair[side], intent);
      expect(outcome(answer)).toEqual([409, "invalid_status"]);
      expect(answer.body.detail).toEqual({ status: "PAID", tx_hash: tx, network: "base-sepolia" });
    }
    expect(await shown(pair.consumer, intent)).toMatchObject({ status: "PAID", cancelled_at: null });
    expectStatus(await asProvider(world, { ...pair, intent, tx }), 200);
    expect(outcome(await cancel(pair.consumer, intent))).toEqual([409, "invalid_status"]);
  });

  it("after the cancellation settles nothing, in either form and whatever it names", async () => {
    const pair = { consumer: await buyer(world, dailyLimit("10.00")), provider: await world.provider() };
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    expectStatus(await cancel(pair.consumer, intent), 200);
    const { consumer, provider } = pair;
    const tx = await payOnChain(consumer.did, provider.did, 10 * UNIT, { intentId: intent.intent_id });
    const unnamed = await payOnChain(consumer.did, provider.did, 10 * UNIT);
    await follow(world);
    expect((await shown(consumer, intent)).status).toBe("ABANDONED");
    const outcomes = [
      await asProvider(world, { ...pair, intent, tx }),
      await asProvider(world, { ...pair, intent, tx: unnamed }),
      await asClient(world, { ...pair, intent, tx: unnamed }),
    ].map((reply) => [...outcome(reply), reply.body.detail]);
    const { cancelled_at } = await shown(consumer, intent);
    expect(outcomes).toEqual([
      [409, "intent_expired", { cancelled_at }],
      [409, "intent_expired", { cancelled_at }],
      [409, "settlement_verification_failed", { failed_check: "no_matching_intent" }],
    ]);
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.settled]).toEqual([0, 0]);
    // What was opened since takes the payment that names none.
    const next = await world.intent(consumer, provider, "10.00");
    const again = await payOnChain(consumer.did, provider.did, 10 * UNIT);
    expect((await asProvider(world, { ...pair, intent: next, tx: again })).status).toBe(200);
  });
});

describe("a cancellation that is refused", () => {
  it("by anybody else is 403, of no intent 404, without a proof 401", async () => {
    const pair = await pairOf(world);
    const intent = await world.intent(pair.consumer, pair.provider, "1.00");
    expect(outcome(await cancel(await world.consumer(), intent))).toEqual([403, "forbidden"]);
    expect(outcome(await cancel(pair.consumer, { intent_id: "pin_none" }))).toEqual([404, "not_found"]);
    expect((await world.call("POST", `${pathOf(intent)}/cancel`)).status).toBe(401);
    expect((await shown(pair.consumer, intent)).status).toBe("OPEN");
  });

  it("of one that has ended is 409, whether or not that is recorded", async () => {
    const { consumer, provider } = await pairOf(world);
    const intent = await world.intent(consumer, provider, "1.00");
    try {
      world.offset = 301_000;
      const answer = await cancel(consumer, intent);
      expect([...outcome(answer), answer.body.detail]).toEqual([409, "invalid_status", { status: "ABANDONED" }]);
    } finally {
      world.offset = 0;
    }
    expectStatus(await cancel(consumer, intent), 200);
    expect(outcome(await cancel(provider, intent))).toEqual([409, "invalid_status"]);
    expect(await toldOf(intent)).toHaveLength(1);
  });

  it("while the chain can't be read is 503, and nothing is changed", async () => {
    const { consumer, provider } = await pairOf(world);
    const intent = await world.intent(consumer, provider, "1.00");
    const answer = await cancel(consumer, intent, withSilentChain(world));
    expect([...outcome(answer), answer.headers.get("retry-after")]).toEqual([503, "chain_unavailable", "2"]);
    expect(await shown(consumer, intent)).toEqual(intent);
  });
});

describe("at once", () => {
  it(`of ${AT_ONCE} cancellations one counts`, async () => {
    const { consumer, provider } = await pairOf(world);
    const intent = await world.intent(consumer, provider, "1.00");
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, n) => cancel(n % 2 === 0 ? consumer : provider, intent)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      200,
      ...Array.from({ length: AT_ONCE - 1 }, () => 409),
    ]);
    expect(await toldOf(intent)).toHaveLength(1);
    const [state] = await spendState(world, consumer.did);
    expect([state?.open, state?.holds]).toEqual([0, []]);
  });

  it("a cancellation and a facilitation: the payment settles, always, whichever overtakes the other and where", async () => {
    const provider = await world.provider();
    const purchase = async (): Promise<Paid> => paid(world, { consumer: await world.consumer(), provider }, "1.00");
    const acts = {
      cancelled: (of: World, { consumer, intent }: Paid) => cancel(consumer, intent, of),
      settled: asProvider,
    };
    for (const [slow, fast] of [
      ["cancelled", "settled"],
      ["settled", "cancelled"],
    ] as const) {
      const first = await purchase();
      world.meter.reset();
      await acts[slow](world, first);
      const { trips } = world.meter.reading;
      expect(trips).toBeGreaterThan(1);
      for (let trip = 1; trip <= trips; trip++) {
        const one = await purchase();
        let overtaking: Reply | undefined;
        const answer = await overtaken(
          world,
          (of) => acts[slow](of, one),
          async () => {
            overtaking = await acts[fast](world, one);
          },
          trip,
        );
        const statuses = { [slow]: answer.status, [fast]: overtaking?.status };
        expect([slow, trip, statuses]).toEqual([slow, trip, { cancelled: 409, settled: 200 }]);
        const [state] = await spendState(world, one.consumer.did);
        expect([state?.open, state?.settled]).toEqual([0, UNIT]);
      }
    }
  });

  it("is replayed under its Idempotency-Key", async () => {
    const { consumer, provider } = await pairOf(world);
    const intent = await world.intent(consumer, provider, "1.00");
    const key = { "Idempotency-Key": "cancel-once" };
    const first = expectStatus(await cancel(consumer, intent, world, key), 200);
    expect(expectStatus(await cancel(consumer, intent, world, key), 200)).toEqual(first);
  });
});
