// Rates consumers for intents that they opened themselves and left unpaid (TSK-11); an intent that the provider opened gives no signal. The signal
// comes when no late payment can settle the intent any more, so it never has to be undone.
import {
  addChangedRows,
  applyChangedRows,
  createChangedRows,
  pickRows,
  type RatedRows,
  rateAgent,
} from "../agents/ratings.ts";
import { requireNetwork } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { type Database, readBatch, type Statement } from "../db/batch.ts";
import type { Timed } from "../db/clock.ts";
import { compileReads } from "../db/compiled.ts";
import type { IntentRow } from "../db/tables/money.ts";
import { type AgentWithPrincipal, findPublicAgent, findPublicAgents } from "../identity/store.ts";
import { findUnratedIntents, selectFromIntent, selectRatedConsumers } from "../intents/find-store.ts";
import { LATE_FACILITATION_MS } from "../intents/states.ts";
import { findIntent, findIntents, markAbandonRated } from "../intents/store.ts";
import type { EachJob, SetResult } from "../jobs/job.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { toConsumerSignal } from "../ratings/rating.ts";
import { findCounterpartiesIn, findCounterpartyOf, findHeaviestIn, findHeaviestOf } from "../ratings/store.ts";

export const rateAbandonedIntents: EachJob = {
  kind: "each",
  name: "rate_abandoned_intents",
  part: 20,
  find: async (deps, after, limit) => {
    const endedBefore = deps.clock.now() - LATE_FACILITATION_MS;
    const { due } = await readBatch(deps.db, {
      due: findUnratedIntents(deps.db, endedBefore, after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: (deps, intentId) =>
    retryUnderLocks(deps.env, async (touches) => {
      const unrated = await readOneUnrated(deps.db, intentId);
      touches(unrated.map(({ intent }) => intent.consumerDid));
      return (await rateIntents(deps, unrated)).done > 0;
    }),
  recordSet: async (deps, intentIds) => rateIntents(deps, await readUnrated(deps.db, intentIds)),
};

type UnratedIntent = {
  readonly intent: Timed<IntentRow>;
  readonly consumer: AgentWithPrincipal & Omit<RatedRows, "escrows">;
};

const buildReadsOfOne = (db: Database, intentId: string) => {
  const of = selectFromIntent(intentId);
  return {
    intent: findIntent(db, intentId),
    consumer: findPublicAgent(db, of.consumerDid),
    counterparty: findCounterpartyOf(db, of.ratedPair),
    heaviest: findHeaviestOf(db, of.ratedConsumer),
  };
};

/** Reads one intent, with fewer rows than `readUnrated` reads. */
async function readOneUnrated(db: Database, intentId: string): Promise<UnratedIntent[]> {
  const { intent, consumer, ...rows } = await readBatch(db, buildReadsOfOne(db, intentId));
  if (!intent || !isUnrated(intent)) return [];
  if (!consumer) throw new Error("an intent without its consumer");
  return [{ intent, consumer: { ...consumer, ...rows } }];
}

const isUnrated = ({ abandonRated, status }: IntentRow): boolean => !abandonRated && status === "ABANDONED";

const buildReadsOfSeveral = compileReads((db, intentIds) => {
  const consumers = selectRatedConsumers(intentIds);
  return {
    intents: findIntents(db, intentIds),
    consumers: findPublicAgents(db, consumers),
    heaviest: findHeaviestIn(db, consumers),
    counterparties: findCounterpartiesIn(db, consumers),
  };
});

/** Reads the intents that are not rated yet, in the given order, with the rows of their consumers. */
async function readUnrated(db: Database, intentIds: readonly string[]): Promise<UnratedIntent[]> {
  const { intents, consumers, ...rows } = await readBatch(db, buildReadsOfSeveral(db, JSON.stringify(intentIds)));
  return intentIds
    .flatMap((id) => intents.filter(({ intentId }) => intentId === id))
    .filter(isUnrated)
    .map((intent) => {
      const { consumerDid: did, environment, providerPrincipalId } = intent;
      const consumer = consumers.find(({ agent }) => agent.did === did);
      if (!consumer) throw new Error("an intent without its consumer");
      return { intent, consumer: { ...consumer, ...pickRows({ did, environment }, providerPrincipalId, rows) } };
    });
}

async function rateIntents(deps: Deps, unrated: readonly UnratedIntent[]): Promise<SetResult> {
  const changed = createChangedRows();
  const statements = unrated.flatMap(({ intent, consumer }): Statement[] => {
    const mark = markAbandonRated(deps.db, intent.intentId);
    if (givesNoSignal(intent, consumer)) return mark;
    const source = applyChangedRows(changed, { ...consumer, escrows: [] }, intent.providerPrincipalId);
    const rated = rateConsumer(deps, intent, source);
    addChangedRows(changed, rated);
    return [...mark, ...rated.statements];
  });
  if (statements.length > 0) await commitAll(deps, statements);
  return { done: unrated.length, alone: [] };
}

/**
 * Compares the principals of when the intent was opened, so that no later transfer spares the consumer or changes which principal it left waiting. A
 * promoted consumer is not rated for the sandbox that it left (AGT-34).
 */
const givesNoSignal = (intent: IntentRow, { agent }: AgentWithPrincipal): boolean =>
  agent.environment !== intent.environment || intent.providerPrincipalId === intent.consumerPrincipalId;

function rateConsumer(deps: Deps, intent: Timed<IntentRow>, source: AgentWithPrincipal & RatedRows) {
  const { decimals } = requireNetwork(deps.config.networks, intent.network);
  const method = pickRatingMethod(deps.env, intent.environment);
  const { counterparty, heaviest } = source;
  return rateAgent(
    deps,
    { ...source, markets: [] },
    {
      add: toConsumerSignal(method, "intent_abandoned", intent.amount / 10 ** decimals),
      at: intent.expiresAt,
      interaction: false,
      counterpartyPrincipalId: intent.providerPrincipalId,
      counterparty,
      heaviest,
      now: deps.clock.now() + intent.clockOffsetMs,
    },
  );
}
