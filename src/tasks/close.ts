// Closes a task: the task, both agents' ratings and the events change together or not at all (TSK-5).
import { type RatedSource, rateAgent } from "../agents/ratings.ts";
import { requireNetwork } from "../chain/networks.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import type { Move } from "../core/machine.ts";
import type { TaskOutcome, TaskStatus } from "../core/vocabulary.ts";
import type { Database, ReadResults, Statement } from "../db/batch.ts";
import { computeClockDifference } from "../db/clock.ts";
import { compileReads } from "../db/compiled.ts";
import type { TaskRow, TransactionRow } from "../db/tables/money.ts";
import { findEscrowsOf, findMarketsOf, findPublicAgent } from "../identity/store.ts";
import { recordEventForParties } from "../journal/events.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { type ClosedTask, type Signal, toTaskSignals } from "../ratings/rating.ts";
import { findCounterpartyOf, findHeaviestOf } from "../ratings/store.ts";
import { toTaskView } from "./read.ts";
import type { ConfirmationView } from "./responses.ts";
import {
  findTask,
  moveTask,
  pickCounterpartyPrincipals,
  selectRatedPair,
  selectRatedSide,
  selectTaskParty,
  type TaskRef,
} from "./store.ts";

const buildClosingReads = (db: Database, taskId: TaskRef) => {
  const provider = selectTaskParty(taskId, "provider");
  const consumer = selectTaskParty(taskId, "consumer");
  return {
    task: findTask(db, taskId),
    provider: findPublicAgent(db, provider),
    consumer: findPublicAgent(db, consumer),
    // An agent cannot leave an environment while it has an open task or dispute there (AGT-34), so the task's environment is the right one.
    markets: findMarketsOf(db, selectRatedSide(taskId, "provider")),
    escrows: findEscrowsOf(db, selectRatedSide(taskId, "provider")),
    providerHeaviest: findHeaviestOf(db, selectRatedSide(taskId, "provider")),
    consumerHeaviest: findHeaviestOf(db, selectRatedSide(taskId, "consumer")),
    providerCounterparty: findCounterpartyOf(db, selectRatedPair(taskId, "provider")),
    consumerCounterparty: findCounterpartyOf(db, selectRatedPair(taskId, "consumer")),
  };
};
const compiledClosingReads = compileReads(buildClosingReads);

/** The reads that closing needs: one trip of constant size, which does not grow with the agents' history. */
export const prepareClosingReads = (db: Database, taskId: TaskRef): ReturnType<typeof buildClosingReads> =>
  typeof taskId === "string" ? compiledClosingReads(db, taskId) : buildClosingReads(db, taskId);

/** `turned`: the batch already changes the state of one of the provider's escrows. */
export type EscrowTurned = { readonly turned?: boolean };
export type ClosingFacts = ReadResults<ReturnType<typeof prepareClosingReads>> & EscrowTurned;

/** The end of a task. `at` is the instant of the end, however late it is recorded; a dispute that ends the task sets the optional columns. */
export type Closing = Partial<Pick<TaskRow, "verdict" | "verdictScore" | "heldMs">> & {
  readonly outcome: TaskOutcome;
  readonly score: number;
  readonly note: string | null;
  readonly at: number;
};

/** The changes that a signal makes for one side; null if the side is not rated. */
export type SideRating = ReturnType<typeof rateAgent> | null;

export type Closed = {
  readonly statements: Statement[];
  readonly view: ConfirmationView;
  readonly rated: { readonly provider: boolean; readonly consumer: boolean };
  readonly sides: { readonly provider: SideRating; readonly consumer: SideRating };
};

export function closeTask(
  deps: Deps,
  facts: ClosingFacts,
  taskMove: Move<TaskStatus>,
  { at, ...closing }: Closing,
  now: number,
): Closed {
  const { db, config } = deps;
  if (!facts.task) throw new Error("a task without its row");
  const { transaction } = facts.task;
  const answered = toAnswerColumn(taskMove.to, closing.outcome, at > deps.clock.now());
  const task: TaskRow = { ...facts.task.task, ...closing, ...answered, status: taskMove.to, closedAt: at };
  const signals = computeSignals(deps, task, transaction, at);
  const sides = givesSignals(task, transaction)
    ? rateBoth(deps, facts, signals, transaction, { at, now })
    : UNRATED_SIDES;
  const dated = dateProviderSignal(facts, at, now);
  const object = toTaskView(config, task, now);
  return {
    sides,
    rated: { provider: sides.provider !== null, consumer: sides.consumer !== null },
    statements: [
      ...moveTask(db, task.taskId, taskMove, {
        ...closing,
        ...answered,
        ...toRatedColumns(task, sides, dated.at, at),
        closedAt: at,
      }),
      ...(sides.provider?.statements ?? []),
      ...(sides.consumer?.statements ?? []),
      ...recordEventForParties(db, transaction, now, { type: "task.closed", object }),
    ],
    view: {
      task_id: task.taskId,
      status: taskMove.to,
      outcome: closing.outcome,
      score: closing.score,
      provider_r_i: signals.provider.r,
      consumer_r_i: signals.consumer.r,
      provider_ar: sides.provider?.rating ?? null,
      consumer_ar: sides.consumer?.rating ?? null,
      closed_at: toIso(at),
    },
  };
}

/** The column by which the lists find the task: `early` if its window ended on a clock that was moved forward. */
function toAnswerColumn(to: TaskStatus, outcome: TaskOutcome, early: boolean): Partial<Pick<TaskRow, "answer">> {
  if (to === "confirmed") return { answer: outcome };
  return early ? { answer: "early" } : {};
}

/** The principal under which each side was rated, so that a reorg can take the signals back (FAC-18). */
const toRatedColumns = (
  task: TaskRow,
  { provider, consumer }: Closed["sides"],
  providerRatedAt: number,
  closedAt: number,
) => ({
  providerRatedBy: provider && pickCounterpartyPrincipals(task).provider,
  consumerRatedBy: consumer && pickCounterpartyPrincipals(task).consumer,
  ...(provider && providerRatedAt !== closedAt && { providerRatedAt }),
});

type Instants = { readonly at: number; readonly now: number };

/**
 * Returns the instant of the provider's signal and the instant to compute it at. A signal is dated on the clock of its agent's platform (TSK-18): if
 * that clock differs from the task's, the signal is dated now on it, so that no rating ages by another platform's clock.
 */
export function dateProviderSignal({ task }: ClosingFacts, at: number, now: number): Instants {
  const apart = task === null ? 0 : computeClockDifference(task);
  return apart === 0 ? { at, now } : { at: now + apart, now: now + apart };
}

const UNRATED_SIDES: Closed["sides"] = { provider: null, consumer: null };

/** Rates an auto-confirmation only if the consumer has shown its will (TSK-12): a provider could pay strangers' intents and be rated for them. */
export const givesSignals = (task: TaskRow, transaction: TransactionRow): boolean =>
  task.status !== "auto_confirmed" || transaction.consumerWilled;

export const toRatedProvider = (
  { markets, escrows, turned = false }: ClosingFacts,
  provider: Pick<RatedSource, "agent" | "principal">,
): RatedSource => ({ ...provider, markets, escrows, turned });

function rateBoth(
  deps: Deps,
  facts: ClosingFacts,
  signals: { provider: Signal; consumer: Signal },
  transaction: TransactionRow,
  { at, now }: Instants,
): Closed["sides"] {
  const { task, provider, consumer } = facts;
  if (!task || !provider || !consumer) throw new Error("a task without its row or its parties");
  const under = pickCounterpartyPrincipals(task.task);
  const volume = { currency: transaction.currency, units: transaction.gross };
  // A promoted agent is not rated for tasks of the environment that it left (AGT-34).
  const rate = (source: RatedSource, signal: Parameters<typeof rateAgent>[2]): SideRating =>
    source.agent.environment === transaction.environment ? rateAgent(deps, source, signal) : null;
  return {
    provider: rate(toRatedProvider(facts, provider), {
      ...dateProviderSignal(facts, at, now),
      volume,
      add: signals.provider,
      counterpartyPrincipalId: under.provider,
      counterparty: facts.providerCounterparty,
      heaviest: facts.providerHeaviest,
    }),
    consumer: rate(
      { ...consumer, markets: [], escrows: [] },
      {
        at,
        now,
        volume,
        add: signals.consumer,
        counterpartyPrincipalId: under.consumer,
        counterparty: facts.consumerCounterparty,
        heaviest: facts.consumerHeaviest,
      },
    ),
  };
}

/** The signals that both sides get from a task closed at this instant. */
export const computeSignals = (deps: Deps, task: TaskRow, transaction: TransactionRow, closedAt: number) =>
  toTaskSignals(pickRatingMethod(deps.env, transaction.environment), toClosedTask(deps, task, transaction, closedAt));

/** Maps a closed task to the input of the rating. */
function toClosedTask({ config }: Deps, task: TaskRow, transaction: TransactionRow, closedAt: number): ClosedTask {
  const { decimals } = requireNetwork(config.networks, transaction.network);
  return {
    outcome: task.status === "auto_confirmed" ? "auto_confirmed" : (task.outcome ?? "confirmed"),
    score: task.score,
    amountWholeUnits: transaction.gross / 10 ** decimals,
    // The consumer answered by its dispute, so the time that the dispute took does not count as delay.
    tookMs: closedAt - task.openedAt - task.heldMs,
    verdict: task.verdict,
    verdictScore: task.verdictScore,
  };
}
