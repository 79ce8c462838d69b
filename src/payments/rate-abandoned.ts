// Rates consumers for intents that they opened themselves and left unpaid (TSK-11). Either party may open an intent, so an intent of the
// other party gives no signal. The signal comes when no late payment can settle the intent any more, so it never has to be undone.
import { rateAgent } from "../agents/rate.ts";
import { networkNamed } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { readBatch } from "../db/batch.ts";
import { findPublicAgent } from "../identity/store.ts";
import { findUnratedIntents, ofIntent } from "../intents/find-store.ts";
import { LATE_MS } from "../intents/states.ts";
import { findIntent, markRated } from "../intents/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { ratingMethod } from "../ratings/method.ts";
import { consumerSignal } from "../ratings/rating.ts";
import { findCounterpartyOf, findHeaviestOf } from "../ratings/store.ts";

export const rateAbandonedIntents: EachJob = {
  kind: "each",
  name: "rate_abandoned_intents",
  find: async (deps, after, limit) => {
    const endedBefore = deps.clock.now() - LATE_MS;
    const { due } = await readBatch(deps.db, {
      due: findUnratedIntents(deps.db, endedBefore, after ?? FIRST, limit),
    });
    return due;
  },
  record: (deps, intentId) => retryUnderLocks(deps.env, (touches) => rateAbandoned(deps, intentId, touches)),
};

async function rateAbandoned(
  deps: Deps,
  intentId: string,
  touches: (dids: readonly string[]) => void,
): Promise<boolean> {
  const { db } = deps;
  const of = ofIntent(intentId);
  const { intent, consumer, counterparty, heaviest } = await readBatch(db, {
    intent: findIntent(db, intentId),
    consumer: findPublicAgent(db, of.consumerDid),
    counterparty: findCounterpartyOf(db, of.ratedPair),
    heaviest: findHeaviestOf(db, of.ratedConsumer),
  });
  if (!intent || intent.abandonRated || intent.status !== "ABANDONED") return false;
  if (!consumer) throw new Error("an intent without its consumer");
  touches([intent.consumerDid]);
  // As it was opened: no transfer since then spares the consumer, or makes another one of whom it left waiting.
  const { providerPrincipalId: counterpartyPrincipalId, consumerPrincipalId } = intent;
  // One that has gone to production meanwhile begins anew there (AGT-34).
  const gone = consumer.agent.environment !== intent.environment;
  if (gone || counterpartyPrincipalId === consumerPrincipalId) {
    await commitAll(deps, markRated(db, intentId));
    return true;
  }
  const { decimals } = networkNamed(deps.config.networks, intent.network);
  const method = ratingMethod(deps.env, intent.environment);
  const rated = rateAgent(
    db,
    deps,
    { ...consumer, markets: [], escrows: [] },
    {
      add: consumerSignal(method, "intent_abandoned", intent.amount / 10 ** decimals),
      at: intent.expiresAt,
      interaction: false,
      counterpartyPrincipalId,
      counterparty,
      heaviest,
      now: deps.clock.now() + intent.clockOffsetMs,
    },
  );
  await commitAll(deps, [...markRated(db, intentId), ...rated.statements]);
  return true;
}
