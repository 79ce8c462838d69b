// Either party cancels an unpaid intent: the chain is read first, a payment that was sent before counts, and the hold stands until a later chain was
// read (PAY-11, PAY-14, PAY-23).
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { abandonIntents } from "../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../src/payments/rate.ts";
import { overtaken } from "../disputes/instants.ts";
import { asClient, asProvider, PATH, type Paid, paid, pairOf } from "../facilitation/support.ts";
import { buyer, dailyLimit, delegateOf, openIntent, orderOf, spendState } from "../payments/support.ts";
import { rows } from "../promotion/support.ts";
import { payOnChain, rpc } from "../support/chain.ts";
import { isWhole } from "../support/scale.ts";
import { withSilentChain } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { follow, headTime } from "./support.ts";

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

/** Moves the clock to `by` milliseconds after the end of a cancelled intent's hold, as far as its network was read. */
async function endHold(intent: Json, by = 0): Promise<void> {
  const [row] = await rows(
    `select i.expires_at + 30000 - f.read_through as wait from payment_intents i
      join followers f on f.network = i.network where i.intent_id = ?`,
    intent.intent_id,
  );
  world.offset = row.wait + by;
}
/** Moves the cancellation this many milliseconds back. */
const backdate = (intent: Json, ms: number): Promise<Json[]> =>
  rows(
    "update payment_intents set expires_at = expires_at - ?, cancelled_at = cancelled_at - ? where intent_id = ?",
    ...[ms, ms, intent.intent_id],
  );
const limitedPair = async () => ({
  consumer: await buyer(world, dailyLimit("10.00")),
  provider: await world.provider(),
});

describe("an open intent", () => {
  afterEach(() => {
    world.offset = 0;
  });

  it.each(["consumer", "provider"] as const)(
    "is cancelled by its %s, and holds until a chain of 30 seconds later was read",
    async (side) => {
      const pair = await limitedPair();
      const intent = await world.intent(pair.consumer, pair.provider, "10.00");
      const cancelled = expectStatus(await cancel(pair[side], intent), 200);
      const at = cancelled.cancelled_at;
      expect(cancelled).toEqual({ ...intent, status: "ABANDONED", expires_at: at, cancelled_at: at });
      expect([at < intent.expires_at, cancelled.hold_released]).toEqual([true, false]);
      expect(await shown(pair.provider, intent)).toEqual(cancelled);
      expect(await toldOf(intent)).toEqual([cancelled]);
      await endHold(intent, -1);
      expect((await shown(pair.provider, intent)).hold_released).toBe(false);
      expect((await openIntent(world, pair.consumer, pair.provider, "1.00")).status).toBe(403);
      await endHold(intent);
      expect((await shown(pair.provider, intent)).hold_released).toBe(true);
      expect((await openIntent(world, pair.consumer, pair.provider, "10.00")).status).toBe(201);
      await world.run(abandonIntents);
      const [state] = await spendState(world, pair.consumer.did);
      expect([state?.open, state?.holds.length, (await toldOf(intent)).length]).toEqual([10 * UNIT, 1, 1]);
    },
  );

  it("is released by the job from every window of its delegation chain", async () => {
    const delegator = await buyer(world, dailyLimit("10.00"));
    const delegate = await delegateOf(world, delegator, dailyLimit("10.00"));
    const provider = await world.provider();
    const intent = await world.intent(delegate, provider, "10.00");
    expectStatus(await cancel(provider, intent), 200);
    await endHold(intent);
    await world.run(abandonIntents);
    const states = await spendState(world, delegator.did, delegate.did);
    expect(states.map(({ open, holds }) => [open, holds])).toEqual([
      [0, []],
      [0, []],
    ]);
    expect(await toldOf(intent)).toHaveLength(1);
  });

  it("counts as one of the three that its provider may open until 30 seconds after its cancellation", async () => {
    const { consumer, provider } = await pairOf(world);
    const offer = () => world.as(provider, "POST", "/v1/payment-intents", orderOf(consumer, provider));
    const [first] = [
      expectStatus(await offer(), 201),
      expectStatus(await offer(), 201),
      expectStatus(await offer(), 201),
    ];
    expectStatus(await cancel(provider, first), 200);
    expect(outcome(await offer())).toEqual([409, "invalid_status"]);
    world.offset = 30_001;
    expect((await offer()).status).toBe(201);
    expect(outcome(await offer())).toEqual([409, "invalid_status"]);
  });

  it("is rated if the consumer that opened it cancels it, and not if the provider does", async () => {
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
    // An intent that the provider opened rates no consumer, because it was never the consumer's will.
    expect([await unratedOf(own), await unratedOf(offered)]).toEqual([false, true]);
    expect(await toldOf(own)).toHaveLength(1);
  });
});

describe("a payment of an intent", () => {
  it("prevents the cancellation even if it was not seen yet: 409 with the transaction", async () => {
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

  it.each([
    ["the follower has seen it", true, true],
    ["the follower has not seen it", false, true],
    ["the follower has seen it, and it names no intent", true, false],
    ["the follower has not seen it, and it names no intent", false, false],
  ])("counts if it is mined right after the cancellation: %s", async (_, isSeen, named) => {
    const pair = await limitedPair();
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    expectStatus(await cancel(pair.provider, intent), 200);
    const name = named ? { intentId: intent.intent_id } : {};
    const tx = await payOnChain(pair.consumer.did, pair.provider.did, 10 * UNIT, name);
    if (isSeen) {
      await follow(world);
      expect(await shown(pair.consumer, intent)).toMatchObject({ status: "PAID", payment: { tx_hash: tx } });
      const [state] = await spendState(world, pair.consumer.did);
      expect([state?.open, state?.holds.map(({ expiresAt }) => expiresAt)]).toEqual([
        10 * UNIT,
        [Number.MAX_SAFE_INTEGER],
      ]);
    }
    const settled = expectStatus(await (named ? asProvider : asClient)(world, { ...pair, intent, tx }), 200);
    expect(settled).toMatchObject({ intent_id: intent.intent_id, task_id: expect.any(String) });
    const [state] = await spendState(world, pair.consumer.did);
    expect([state?.open, state?.holds, state?.settled]).toEqual([0, [], 10 * UNIT]);
  });

  it("settles nothing in either form if it is mined more than 30 seconds after the cancellation", async () => {
    const pair = await limitedPair();
    const intent = await world.intent(pair.consumer, pair.provider, "10.00");
    expectStatus(await cancel(pair.consumer, intent), 200);
    await backdate(intent, 40_000);
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
    expect(state?.settled).toBe(0);
  });

  it.each([
    ["its provider is revoked", "provider", "POST", "revoke", { reason: "gone" }],
    ["its provider is terminated", "provider", "PATCH", "status", { status: "TERMINATED" }],
    ["its consumer is revoked", "consumer", "POST", "revoke", { reason: "gone" }],
    ["its consumer is suspended", "consumer", "PATCH", "status", { status: "SUSPENDED" }],
  ] as const)(
    "counts if it is mined right after %s, and is facilitated by the other side",
    async (_, side, method, path, body) => {
      const pair = await limitedPair();
      const intent = await world.intent(pair.consumer, pair.provider, "10.00");
      expectStatus(await world.call(method, `/v1/agents/${pair[side].did}/${path}`, { body }), 200);
      const tx = await payOnChain(pair.consumer.did, pair.provider.did, 10 * UNIT, { intentId: intent.intent_id });
      const other = side === "provider" ? pair.consumer : pair.provider;
      await follow(world);
      expect((await shown(other, intent)).status).toBe("PAID");
      const settled = await world.as(other, "POST", PATH, { intent_id: intent.intent_id, payment_tx: tx });
      expect(expectStatus(settled, 200).task_id).toEqual(expect.any(String));
    },
  );
});

describe("a refused cancellation", () => {
  it("is 403 for any other agent, 404 without such an intent, and 401 without a proof", async () => {
    const pair = await pairOf(world);
    const intent = await world.intent(pair.consumer, pair.provider, "1.00");
    expect(outcome(await cancel(await world.consumer(), intent))).toEqual([403, "forbidden"]);
    expect(outcome(await cancel(pair.consumer, { intent_id: "pin_none" }))).toEqual([404, "not_found"]);
    expect((await world.call("POST", `${pathOf(intent)}/cancel`)).status).toBe(401);
    expect((await shown(pair.consumer, intent)).status).toBe("OPEN");
  });

  it("is 409 for an intent that has ended, whether or not its end is recorded", async () => {
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

  it("is 503 while the chain can't be read, and changes nothing", async () => {
    const { consumer, provider } = await pairOf(world);
    const intent = await world.intent(consumer, provider, "1.00");
    const answer = await cancel(consumer, intent, withSilentChain(world));
    expect([...outcome(answer), answer.headers.get("retry-after")]).toEqual([503, "chain_unavailable", "2"]);
    expect(await shown(consumer, intent)).toEqual(intent);
  });
});

describe("a stalled node", () => {
  it("causes a 503 where blocks come by themselves, and a 200 follows once it goes on", async () => {
    const networks = (JSON.parse(env.NETWORKS) as Json[]).map((one) => ({ ...one, block_seconds: 2 }));
    const of = await createWorld({ NETWORKS: JSON.stringify(networks) });
    const { consumer, provider } = await pairOf(of);
    const intent = await of.intent(consumer, provider, "1.00");
    const real = vi.spyOn(Date, "now").mockReturnValue((await headTime()) + 30_001);
    try {
      expect(outcome(await cancel(consumer, intent, of))).toEqual([503, "chain_unavailable"]);
      expect(await of.as(consumer, "GET", pathOf(intent))).toMatchObject({ status: 200, body: intent });
      await rpc("base-sepolia", "evm_mine", []);
      real.mockReturnValue((await headTime()) + 30_000);
      expectStatus(await cancel(consumer, intent, of), 200);
    } finally {
      real.mockRestore();
    }
  });
});

describe("concurrent calls", () => {
  it(`accept one of ${AT_ONCE} cancellations`, async () => {
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
  });

  it("always settle the payment, whichever of cancellation and facilitation overtakes the other, and where", async () => {
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

  it("replay a cancellation under its Idempotency-Key", async () => {
    const { consumer, provider } = await pairOf(world);
    const intent = await world.intent(consumer, provider, "1.00");
    const key = { "Idempotency-Key": "cancel-once" };
    const first = expectStatus(await cancel(consumer, intent, world, key), 200);
    expect(expectStatus(await cancel(consumer, intent, world, key), 200)).toEqual(first);
  });
});
