// Plays of a purchase: the intent, its settlement, its task, and their jobs. Buyer and seller belong to two platforms.
import { inArray } from "drizzle-orm";
import { agents } from "../../../src/db/tables/agents.ts";
import { escrows } from "../../../src/db/tables/money.ts";
import { abandonIntents, spendPaidIntents } from "../../../src/payments/abandon.ts";
import { rateAbandonedIntents } from "../../../src/payments/rate.ts";
import { pickRatingMethod } from "../../../src/ratings/method.ts";
import { forwardScale } from "../../../src/ratings/rating.ts";
import { autoConfirmTasks } from "../../../src/tasks/confirm.ts";
import { asProvider, confirm, facilitated, type Pair, paid } from "../../facilitation/support.ts";
import { payOnChain } from "../../support/chain.ts";
import type { Parties } from "../../support/consequences.ts";
import type { World } from "../../support/world.ts";
import { DAY, follow, HOUR, MINUTE, must, NETWORK, type Play, type Plays, type Stage, store } from "./stage.ts";

/** Settlements pay a tenth into the escrow, until it holds 15. */
const FILLING = "500.00";
const ENDED = 6 * MINUTE;

export const pairOf = async ({ world, other }: Stage): Promise<Pair> => ({
  provider: await world.provider(),
  consumer: await other.consumer(),
});
async function pairOfOnePrincipal({ world }: Stage): Promise<Pair> {
  const overrides = { principal_id: await world.principal() };
  return { provider: await world.provider(overrides), consumer: await world.consumer(overrides) };
}
export const partiesOf = ({ provider, consumer }: Pair): Parties => ({
  provider: [provider.did],
  consumer: [consumer.did],
});

const orderOf = ({ provider, consumer }: Pair) => ({ consumer_did: consumer.did, provider_did: provider.did });
export const openAs = (world: World, pair: Pair, side: keyof Pair) =>
  must(
    201,
    world.as(pair[side], "POST", "/v1/payment-intents", { ...orderOf(pair), amount: "10.00", currency: "USDC" }),
  );

const addressFor =
  (query: (pair: Pair) => Record<string, string>): Play =>
  async (stage) => {
    const pair = await pairOf(stage);
    const asked = new URLSearchParams({ market: "GLOBAL-USDC", network: NETWORK, ...query(pair) });
    return async () => {
      await must(200, stage.world.as(pair.consumer, "GET", `/v1/payment-address?${asked}`));
      return partiesOf(pair);
    };
  };

const cancel = (world: World, { consumer }: Pair, { intent_id }: { readonly intent_id: string }) =>
  world.as(consumer, "POST", `/v1/payment-intents/${intent_id}/cancel`);

/** Facilitates a payment; `then` runs between the payment and the facilitation. */
const settling =
  (
    amount: string,
    pairFor: (stage: Stage) => Promise<Pair> = pairOf,
    then: (world: World) => Promise<unknown> = async () => undefined,
  ): Play =>
  async (stage) => {
    const { world } = stage;
    const purchase = await paid(world, await pairFor(stage), amount);
    await then(world);
    return async () => {
      await must(200, asProvider(world, purchase));
      return partiesOf(purchase);
    };
  };

/** The open intents end, and the chain has been read past their ends. */
async function passEnds(world: World): Promise<void> {
  await follow(world);
  world.advance(ENDED);
}

async function endIntents(world: World): Promise<void> {
  await passEnds(world);
  await world.run(abandonIntents);
}

/** The job's clock is ahead of the blocks, so a payment may still be mined before the intent's end. */
const endEarly = (world: World) =>
  world.run(abandonIntents, { ...world.deps, clock: { now: () => world.now() + ENDED } });

/** Confirms a facilitated payment; `then` runs before. */
const confirming =
  (body: unknown, then: (world: World, pair: Pair) => Promise<unknown> = async () => undefined, status = 200): Play =>
  async (stage) => {
    const { world } = stage;
    const purchase = await facilitated(world, await pairOf(stage));
    await then(world, purchase);
    return async () => {
      await must(status, confirm(world, purchase.consumer, purchase.task, body));
      return partiesOf(purchase);
    };
  };

const hold = (balance: number) => (world: World, pair: Pair) =>
  store(world, (db) =>
    db
      .update(escrows)
      .set({ balance })
      .where(inArray(escrows.did, [pair.provider.did])),
  );

/** A rating from a history so long that one more task does not change it. */
async function renown(world: World, { provider, consumer }: Pair): Promise<void> {
  const sum = 1_000_000 * forwardScale(pickRatingMethod(world.deps.env, "sandbox"), world.now());
  const sums = {
    ratingWeight: sum,
    ratingWeighted: sum,
    ratingInteractions: 9,
    ratingCounterparties: 9,
    agentRating: 1,
  };
  const dids = [provider.did, consumer.did];
  await store(world, (db) => [
    db.update(agents).set(sums).where(inArray(agents.did, dids)),
    db.update(escrows).set({ threshold: 7_500_000 }).where(inArray(escrows.did, dids)),
  ]);
}

const CONFIRMED = { outcome: "confirmed" };
const REJECTED = { outcome: "rejected" };

/** A play of a job. Due rows of other plays are recorded first. */
const falling =
  (
    clear: (world: World) => Promise<unknown>,
    prepare: (stage: Stage) => Promise<Pair>,
    act: (world: World) => Promise<unknown>,
  ): Play =>
  async (stage) => {
    await clear(stage.world);
    const pair = await prepare(stage);
    return async () => {
      await act(stage.world);
      return partiesOf(pair);
    };
  };

const autoConfirm = (world: World) => world.run(autoConfirmTasks);
async function endTasks(world: World): Promise<void> {
  world.advance(72 * HOUR);
  await autoConfirm(world);
}

const unanswered =
  (openedBy: keyof Pair) =>
  async (stage: Stage): Promise<Pair> => {
    const { world } = stage;
    const pair = await pairOf(stage);
    const intent = await openAs(world, pair, openedBy);
    const tx = await payOnChain(pair.consumer.did, pair.provider.did, 10_000_000, { intentId: intent.intent_id });
    await must(200, asProvider(world, { ...pair, intent, tx }));
    world.advance(72 * HOUR);
    return pair;
  };

const rateAbandoned = (world: World) => world.run(rateAbandonedIntents);
const spendPaid = (world: World) => world.run(spendPaidIntents);
async function endAbandoned(world: World): Promise<void> {
  await endIntents(world);
  world.advance(DAY);
  await rateAbandoned(world);
}
const abandoned =
  (pairFor: (stage: Stage) => Promise<Pair>, history: (stage: Stage, pair: Pair) => Promise<unknown>) =>
  async (stage: Stage): Promise<Pair> => {
    const { world } = stage;
    const pair = await pairFor(stage);
    await history(stage, pair);
    await openAs(world, pair, "consumer");
    await endIntents(world);
    world.advance(DAY);
    return pair;
  };
const none = async () => undefined;
async function purchase({ world }: Stage, pair: Pair): Promise<void> {
  const { task, consumer } = await facilitated(world, pair);
  await must(200, confirm(world, consumer, task, CONFIRMED));
}

export const PURCHASE_PLAYS: Plays = {
  createPaymentIntent: {
    always: async (stage) => {
      const pair = await pairOf(stage);
      return async () => {
        await openAs(stage.world, pair, "consumer");
        return partiesOf(pair);
      };
    },
  },
  getPaymentAddress: {
    "with an order": addressFor((pair) => ({ ...orderOf(pair), amount: "10.00" })),
    "without an order": addressFor(() => ({})),
  },
  cancelPaymentIntent: {
    "it was not paid": async (stage) => {
      const pair = await pairOf(stage);
      const intent = await openAs(stage.world, pair, "consumer");
      // Books payments of earlier plays first.
      await follow(stage.world);
      return async () => {
        await must(200, cancel(stage.world, pair, intent));
        return partiesOf(pair);
      };
    },
    "refused, because its payment is found on the chain": async (stage) => {
      const pair = await pairOf(stage);
      await follow(stage.world);
      const { intent } = await paid(stage.world, pair, "10.00");
      return async () => {
        await must(409, cancel(stage.world, pair, intent));
        return partiesOf(pair);
      };
    },
  },
  facilitate: {
    settled: settling("10.00"),
    "settled, and the escrow is full": settling(FILLING),
    "settled, and its payment was seen before": settling("10.00", pairOf, follow),
    "settled late": settling("10.00", pairOf, endEarly),
    "settled between agents of one principal": settling("10.00", pairOfOnePrincipal),
    "the same call again": async (stage) => {
      const settled = await facilitated(stage.world, await pairOf(stage));
      return async () => {
        await must(200, asProvider(stage.world, settled));
        return partiesOf(settled);
      };
    },
  },
  confirmTask: {
    confirmed: confirming(CONFIRMED),
    "confirmed, and the threshold falls to what the escrow holds": confirming(CONFIRMED, hold(14_000_000)),
    "confirmed, and both ratings stay": confirming(CONFIRMED, renown),
    partial: confirming({ outcome: "partial", score: 0.4 }),
    rejected: confirming(REJECTED),
    "refused after 72 hours, before the job has run": confirming(
      REJECTED,
      async (world) => world.advance(72 * HOUR),
      409,
    ),
  },
  auto_confirm_tasks: {
    "the consumer opened the intent": falling(endTasks, unanswered("consumer"), autoConfirm),
    "the provider opened the intent": falling(endTasks, unanswered("provider"), autoConfirm),
  },
  abandon_intents: {
    "it was not paid in time": falling(
      endIntents,
      async (stage) => {
        const pair = await pairOf(stage);
        await openAs(stage.world, pair, "consumer");
        await passEnds(stage.world);
        return pair;
      },
      (world) => world.run(abandonIntents),
    ),
    "it was cancelled, and its end was reported then": falling(
      endIntents,
      async (stage) => {
        const pair = await pairOf(stage);
        const intent = await openAs(stage.world, pair, "consumer");
        await must(200, cancel(stage.world, pair, intent));
        await passEnds(stage.world);
        return pair;
      },
      (world) => world.run(abandonIntents),
    ),
  },
  spend_paid_intents: {
    "it was not facilitated": falling(
      spendPaid,
      async (stage) => {
        const purchase = await paid(stage.world, await pairOf(stage), "10.00");
        await follow(stage.world);
        stage.world.advance(30 * DAY + HOUR);
        return purchase;
      },
      spendPaid,
    ),
  },
  rate_abandoned_intents: {
    "the consumer's rating moves": falling(endAbandoned, abandoned(pairOf, purchase), rateAbandoned),
    "the consumer is not rated yet": falling(endAbandoned, abandoned(pairOf, none), rateAbandoned),
    "agents of one principal": falling(endAbandoned, abandoned(pairOfOnePrincipal, none), rateAbandoned),
  },
};
