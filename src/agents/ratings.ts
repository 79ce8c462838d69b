// Changes the published ratings of agents: by the signals of a batch (TSK-5, MKT-16), and by decay (TSK-23). A document becomes stale and is signed
// when it is next read.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { isFinal } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { AgentRow, CounterpartyRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { applyRating, hasStateChanged, hasThresholdMoved } from "../escrow/changes.ts";
import { pickWorstStateOfAgent } from "../escrow/states.ts";
import { moveThreshold } from "../escrow/store.ts";
import type { AidSource } from "../identity/aid.ts";
import { findEscrows, findMarkets, findTimedAgent, selectAgentEnvironment } from "../identity/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { recordEvent } from "../journal/events.ts";
import { recordRatingChange } from "../journal/feed.ts";
import { pickRatingMethod, type RatingMethod } from "../ratings/method.ts";
import { findNextChange } from "../ratings/rating.ts";
import { addSignal, computeRatingFromRow, type SignalChange, toAgentSums } from "../ratings/signals.ts";
import type { AddedSums, RatingColumns } from "../ratings/store.ts";
import { findDecayedAgents } from "./find-store.ts";
import type { Volume } from "./rating-store.ts";
import { toAgentView } from "./read.ts";
import { scheduleRating, updateRating } from "./store.ts";

/** The rows that a signal can change. `turned`: the batch already moves an escrow to another state, and this call records its event. */
export type RatedSource = Omit<AidSource, "certificate"> & { readonly turned?: boolean };
type Change = Omit<SignalChange, "by"> & { readonly volume?: Volume };

export type Rated = {
  readonly rating: number | null;
  readonly statements: Statement[];
  /** The rows after the statements. */
  readonly agent: AgentRow;
  readonly escrows: readonly EscrowRow[];
  readonly turnsEscrow: boolean;
};

/**
 * Applies a signal to one agent: its sums, its rating and the thresholds that follow. A guard may refuse the batch: after a conflict the caller
 * reads and decides again.
 */
export function rateAgent(
  deps: Deps,
  source: RatedSource,
  change: Change,
): Rated & { readonly counterparty: CounterpartyRow } {
  const by = pickRatingMethod(deps.env, source.agent.environment);
  const { counterparty, ...added } = addSignal(deps.db, source.agent, { ...change, by });
  return { ...publishRow(deps, source, { ...added, by, ...change }), counterparty };
}

type Publication = {
  readonly columns: RatingColumns;
  readonly added: AddedSums | null;
  readonly statements: readonly Statement[];
  readonly by: RatingMethod;
  readonly now: number;
  readonly volume?: Volume;
};

function publishRow(
  deps: Deps,
  source: RatedSource,
  { columns, added, statements, by, now, volume }: Publication,
): Rated {
  const before = source.agent;
  const rating = columns.agentRating;
  const moved = source.escrows.map((escrow) => ({ before: escrow, after: applyRating(escrow, rating) }));
  const turned = moved.filter(hasStateChanged).map((escrow) => escrow.after);
  const toldOf = turned.length > 0 || source.turned === true;
  const listed = rating !== before.agentRating || toldOf;
  const set = { ...columns, ...(listed && { updatedAt: Math.max(before.updatedAt, now) }) };
  const after = { ...source, agent: { ...before, ...set }, escrows: moved.map((escrow) => escrow.after) };
  const republishAt = computeRepublication(before, columns, by, now);
  const written = { ...set, turned, volume, republishAt };
  return {
    rating,
    agent: { ...after.agent, ...(republishAt !== undefined && { republishAt }) },
    escrows: after.escrows,
    turnsEscrow: turned.length > 0,
    statements: [
      ...statements,
      // The event of a turned escrow shows the agent, so the sums must still be those that were read: no relative update.
      ...updateRating(deps.db, before, written, toldOf ? null : added),
      ...moved.filter(hasThresholdMoved).flatMap((escrow) => moveThreshold(deps.db, escrow.before, escrow.after)),
      ...recordEscrowChange(deps, after, toldOf, listed ? { agentRating: rating } : null, now),
    ],
  };
}

/** When decay will next move the rating. An earlier scheduled time is kept: the job looks at it then, and this call saves a write. */
function computeRepublication(before: AgentRow, columns: RatingColumns, by: RatingMethod, now: number) {
  const next = findNextChange(toAgentSums(columns), columns.ratingHeaviest, by, now);
  const { republishAt, agentRating } = before;
  const stays = columns.agentRating === agentRating && republishAt !== null && republishAt > now;
  return stays && (next === null || next >= republishAt) ? undefined : next;
}

/**
 * Records the event of a turned escrow, which shows the agent as it then is, and the directory's change. `listed`: the rating if it changed;
 * null if the directory shows no change.
 */
export function recordEscrowChange(
  deps: Deps,
  after: RatedSource,
  turned: boolean,
  listed: { readonly agentRating?: number | null } | null,
  now: number,
): Statement[] {
  const { agent } = after;
  return [
    ...(turned
      ? [
          recordEvent(deps.db, agent, now, {
            type: "agent.escrow_state_changed",
            object: toAgentView(deps.config, after, now),
            // The row still has the states from before this batch.
            previous: { escrow_state: pickWorstStateOfAgent(agent) },
          }),
        ]
      : []),
    ...(listed ? recordRatingChange(deps.db, agent, listed) : []),
  ];
}

// ---- Several signals in one batch ---------------------------------------------------------------------------------------
// Each signal for an agent is counted on the rows as the earlier signals left them.

/** Keyed by the DID of the agent. */
export type ChangedRows = {
  readonly agents: Map<string, AgentRow>;
  readonly escrows: Map<string, readonly EscrowRow[]>;
  readonly counterparties: Map<string, readonly CounterpartyRow[]>;
};

export const createChangedRows = (): ChangedRows => ({
  agents: new Map(),
  escrows: new Map(),
  counterparties: new Map(),
});

export type RatedRows = {
  readonly agent: AgentRow;
  readonly escrows: readonly EscrowRow[];
  readonly counterparty: CounterpartyRow | null;
  readonly heaviest: readonly CounterpartyRow[];
};

/** Replaces rows that were read by those that earlier signals changed. `under`: the principal of the counterparty. */
export function applyChangedRows<T extends RatedRows>(
  { agents, escrows, counterparties }: ChangedRows,
  read: T,
  under: string,
) {
  const { did } = read.agent;
  const changed = counterparties.get(did) ?? [];
  return {
    ...read,
    agent: agents.get(did) ?? read.agent,
    escrows: [...(escrows.get(did) ?? read.escrows)],
    counterparty: findRow(changed, under) ?? read.counterparty,
    heaviest: joinRows(changed, read.heaviest),
  };
}

export function addChangedRows(
  { agents, escrows, counterparties }: ChangedRows,
  after: Omit<RatedRows, "heaviest" | "counterparty"> & { readonly counterparty: CounterpartyRow },
): void {
  const { did } = after.agent;
  agents.set(did, after.agent);
  // A buyer is rated without escrows: the empty list must not replace the escrows of its sales.
  if (after.escrows.length > 0) escrows.set(did, after.escrows);
  counterparties.set(did, joinRows([after.counterparty], counterparties.get(did) ?? []));
}

type Owned = { readonly did: string; readonly environment: string };

/** Picks an agent's rows out of those of the whole batch. A row is read once per signal, so repetitions are removed. */
export function pickRows(
  { did, environment }: Owned,
  under: string,
  read: { readonly heaviest: readonly CounterpartyRow[]; readonly counterparties: readonly CounterpartyRow[] },
): Pick<RatedRows, "counterparty"> & { readonly heaviest: CounterpartyRow[] } {
  const isOwn = (row: Owned) => row.did === did && row.environment === environment;
  const heaviest = new Map(read.heaviest.filter(isOwn).map((row) => [row.counterpartyPrincipalId, row]));
  return {
    heaviest: [...heaviest.values()],
    counterparty: findRow(read.counterparties.filter(isOwn), under) ?? null,
  };
}

const findRow = (rows: readonly CounterpartyRow[], principalId: string): CounterpartyRow | undefined =>
  rows.find((row) => row.counterpartyPrincipalId === principalId);

const joinRows = (changed: readonly CounterpartyRow[], others: readonly CounterpartyRow[]): CounterpartyRow[] => [
  ...changed,
  ...others.filter((row) => !findRow(changed, row.counterpartyPrincipalId)),
];

// ---- Decay --------------------------------------------------------------------------------------------------------------

/** The clock of all platforms that have never moved theirs. */
const REAL_TIME = "";

/**
 * Publishes ratings that decay has moved by a hundredth since they were last published. Each publication schedules the next one, so no job has to
 * scan all agents.
 */
export const publishRatings: EachJob = {
  kind: "each",
  name: "publish_ratings",
  find: async ({ db, clock }, after, limit) => {
    const { due } = await readBatch(db, {
      due: findDecayedAgents(db, REAL_TIME, clock.now(), after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: publishRating,
};

async function publishRating(deps: Deps, did: string): Promise<boolean> {
  const { db, clock } = deps;
  const environment = selectAgentEnvironment(did);
  const { found, markets, escrows } = await readBatch(db, {
    found: findTimedAgent(db, did),
    markets: findMarkets(db, did, environment),
    escrows: findEscrows(db, did, environment),
  });
  if (!found) return false;
  const { agent, principal, clockOffsetMs } = found;
  const now = clock.now() + clockOffsetMs;
  if (agent.republishAt === null || agent.republishAt > now) return false;
  // A final agent sells nothing any more, so its published rating stays.
  if (isFinal(agent.status)) {
    await commit(db, scheduleRating(db, agent, null));
    return true;
  }
  await commitAll(deps, publishDecay(deps, { agent, principal, markets, escrows }, now));
  return true;
}

/** Publishes the rating as decay has left it. If decay has not moved it yet, schedules the next look for when it will have. */
export function publishDecay(deps: Deps, source: RatedSource, now: number): Statement[] {
  const { agent } = source;
  const by = pickRatingMethod(deps.env, agent.environment);
  const rating = computeRatingFromRow(agent, by, now);
  if (rating === agent.agentRating)
    return scheduleRating(deps.db, agent, findNextChange(toAgentSums(agent), agent.ratingHeaviest, by, now));
  const { ratingWeight, ratingWeighted, ratingInteractions, ratingCounterparties, ratingHeaviest } = agent;
  const sums = { ratingWeight, ratingWeighted, ratingInteractions, ratingCounterparties, ratingHeaviest };
  return publishRow(deps, source, {
    columns: { ...sums, agentRating: rating },
    added: null,
    statements: [],
    by,
    now,
  }).statements;
}
