// Applies a dispute to its task (DSP-13, DSP-14). Filing holds an open task; the end closes it, or resumes the rest of its window. A verdict about a
// closed task replaces its signals. Also ends the task of a settlement that a reorg removed (FAC-18).
import { type RatedSource, rateAgent } from "../agents/ratings.ts";
import type { Deps } from "../context.ts";
import { HOUR_MS, RESUMED_WINDOW_HOURS_MIN } from "../core/limits.ts";
import { move, tryMove } from "../core/machine.ts";
import type { Database, Statement } from "../db/batch.ts";
import { computeClockDifference } from "../db/clock.ts";
import type { EscrowRow, TaskRow } from "../db/tables/money.ts";
import { recordEventForParties } from "../journal/events.ts";
import type { Signal } from "../ratings/rating.ts";
import {
  type Closing,
  type ClosingFacts,
  closeTask,
  computeSignals,
  dateProviderSignal,
  givesSignals,
  prepareClosingReads,
  toRatedProvider,
} from "./close.ts";
import { toTaskView } from "./read.ts";
import { taskMachine } from "./states.ts";
import { moveTask, pickCounterpartyPrincipals, setVerdict } from "./store.ts";

export const verdictReads = prepareClosingReads;

export const holdTask = (db: Database, { taskId, status }: TaskRow): Statement[] =>
  moveTask(db, taskId, move(taskMachine, status, "dispute"), {});

/** `left`: the time that the window had left when the task was held. `filedAt`: when it was held. */
type HeldWindow = { readonly left: number; readonly filedAt: number };

/** The window resumes with the time that was left, but with an hour at least. */
export function resumeTask(db: Database, task: TaskRow, { left, filedAt }: HeldWindow, now: number): Statement[] {
  const confirmBy = computeResumedWindowEnd(left, now);
  const heldMs = task.heldMs + (now - filedAt);
  return moveTask(db, task.taskId, move(taskMachine, task.status, "dispute_withdrawn"), { confirmBy, heldMs });
}

export const computeResumedWindowEnd = (left: number, now: number): number =>
  now + Math.max(left, RESUMED_WINDOW_HOURS_MIN * HOUR_MS);

type EndedColumns = Pick<Closing, "outcome" | "score"> & Pick<TaskRow, "verdict" | "verdictScore">;

/** `rated`: the sides whose rating the statements write. */
export type AppliedVerdict = {
  readonly statements: Statement[];
  readonly rated: { readonly provider: boolean; readonly consumer: boolean };
};

/** Closes a task that the dispute holds. */
export function closeHeldTask(
  deps: Deps,
  facts: ClosingFacts,
  ended: EndedColumns,
  filedAt: number,
  now: number,
): AppliedVerdict {
  if (!facts.task) throw new Error("a task without its row");
  const { task } = facts.task;
  const heldMs = task.heldMs + (now - filedAt);
  const moved = move(taskMachine, task.status, "dispute_ends");
  return closeTask(deps, facts, moved, { ...ended, heldMs, note: null, at: now }, now);
}

/** Applies a verdict to a closed task. `ended` has the outcome if the dispute had held the task and now ends it again. */
export function replaceVerdict(
  deps: Deps,
  facts: ClosingFacts,
  ended: Partial<Pick<TaskRow, "outcome" | "score" | "answer">> & Pick<TaskRow, "verdict" | "verdictScore">,
  now: number,
): AppliedVerdict {
  if (!facts.task) throw new Error("a task without its row");
  const { task: before, transaction } = facts.task;
  const { closedAt } = before;
  const { provider, consumer } = facts;
  if (closedAt === null || !provider || !consumer) throw new Error("a closed task without its end or its parties");
  const after: TaskRow = { ...before, ...ended };
  const [old, next] = [before, after].map((task) => computeSignals(deps, task, transaction, closedAt));
  if (!old || !next) throw new Error("unreachable: two tasks have two signals");
  // The consumer has shown its will by the dispute, so a verdict also rates tasks that the auto-confirmation did not (TSK-12).
  const rates = transaction.reversedAt === null && (givesSignals(before, transaction) || after.verdict !== null);
  const under = pickCounterpartyPrincipals(before);
  const volume = { currency: transaction.currency, units: transaction.gross };
  const dated = dateProviderSignal(facts, closedAt, now);
  const rate = (
    source: RatedSource,
    given: boolean,
    counterpartyPrincipalId: string,
    signals: readonly [Signal, Signal],
    rest: Pick<Parameters<typeof rateAgent>[2], "counterparty" | "heaviest" | "at" | "now">,
  ): Statement[] | null => {
    const [taken, add] = signals;
    if (source.agent.environment !== transaction.environment) return null;
    if (given) {
      if (taken.r === add.r && taken.weight === add.weight) return null;
      const replaces = { signal: taken, at: rest.at };
      return rateAgent(deps, source, { ...rest, add, replaces, counterpartyPrincipalId }).statements;
    }
    if (!rates) return null;
    return rateAgent(deps, source, { ...rest, add, volume, counterpartyPrincipalId }).statements;
  };
  const providerAt = before.providerRatedAt ?? (before.providerRatedBy === null ? dated.at : closedAt);
  const sides = {
    provider: rate(
      toRatedProvider(facts, provider),
      before.providerRatedBy !== null,
      under.provider,
      [old.provider, next.provider],
      { at: providerAt, now: dated.now, counterparty: facts.providerCounterparty, heaviest: facts.providerHeaviest },
    ),
    consumer: rate(
      { ...consumer, markets: [], escrows: [] },
      before.consumerRatedBy !== null,
      under.consumer,
      [old.consumer, next.consumer],
      { at: closedAt, now, counterparty: facts.consumerCounterparty, heaviest: facts.consumerHeaviest },
    ),
  };
  const newly = {
    ...(sides.provider && before.providerRatedBy === null
      ? {
          providerRatedBy: under.provider,
          ...(providerAt !== closedAt && { providerRatedAt: providerAt }),
        }
      : {}),
    ...(sides.consumer && before.consumerRatedBy === null ? { consumerRatedBy: under.consumer } : {}),
  };
  return {
    rated: { provider: sides.provider !== null, consumer: sides.consumer !== null },
    statements: [
      ...setVerdict(deps.db, before, { ...ended, ...newly }),
      ...(sides.provider ?? []),
      ...(sides.consumer ?? []),
    ],
  };
}

// ---- A settlement that a reorg removed -------------------------------------------------------------------------------------

/** The provider's escrows as the same batch leaves them. `turned`: the batch already changes the state of one of them. */
type EscrowsLeft = { readonly escrows: readonly EscrowRow[]; readonly turned: boolean };

/** An open task becomes void and rates neither side. The signals of a closed task are taken back, as if it had never existed. */
export function reverseTask(deps: Deps, facts: ClosingFacts, left: EscrowsLeft, now: number): Statement[] {
  const { db, config } = deps;
  if (!facts.task) throw new Error("a task without its row");
  const { task, transaction } = facts.task;
  const reversal = tryMove(taskMachine, task.status, "reverse");
  if (!reversal.ok) return takeBackSignals(deps, facts, left, now);
  const ended = { answer: "void", closedAt: now } as const;
  const object = toTaskView(config, { ...task, ...ended, status: reversal.move.to }, now);
  return [
    ...moveTask(db, task.taskId, reversal.move, ended),
    ...recordEventForParties(db, transaction, now, { type: "task.closed", object }),
  ];
}

const UNRATED_COLUMNS = {
  providerRatedBy: null,
  consumerRatedBy: null,
  providerRatedAt: null,
  verdict: null,
  verdictScore: null,
} as const;

function takeBackSignals(deps: Deps, facts: ClosingFacts, { escrows, turned }: EscrowsLeft, now: number): Statement[] {
  if (!facts.task) throw new Error("a task without its row");
  const { task, transaction } = facts.task;
  const { providerRatedBy, providerRatedAt, consumerRatedBy, closedAt } = task;
  const { provider, consumer } = facts;
  if (!provider || !consumer || closedAt === null) throw new Error("a closed task without its parties or its end");
  const signals = computeSignals(deps, task, transaction, closedAt);
  const volume = { currency: transaction.currency, units: -transaction.gross };
  const shared = { at: closedAt, now, takenBack: true, volume } as const;
  const rated = findRatedSides(facts);
  const rate = (source: RatedSource, signal: Parameters<typeof rateAgent>[2]): Statement[] =>
    rateAgent(deps, source, signal).statements;
  const isRated = providerRatedBy !== null || consumerRatedBy !== null;
  return [
    // The task stays readable: how it ended, and its consumer's answer.
    ...(isRated || task.verdict !== null ? setVerdict(deps.db, task, UNRATED_COLUMNS) : []),
    ...(providerRatedBy === null || !rated.provider
      ? []
      : rate(
          { ...provider, markets: facts.markets, escrows: [...escrows], turned },
          {
            ...shared,
            at: providerRatedAt ?? closedAt,
            now: now + computeClockDifference(facts.task),
            add: signals.provider,
            counterpartyPrincipalId: providerRatedBy,
            counterparty: facts.providerCounterparty,
            heaviest: facts.providerHeaviest,
          },
        )),
    ...(consumerRatedBy === null || !rated.consumer
      ? []
      : rate(
          { ...consumer, markets: [], escrows: [] },
          {
            ...shared,
            add: signals.consumer,
            counterpartyPrincipalId: consumerRatedBy,
            counterparty: facts.consumerCounterparty,
            heaviest: facts.consumerHeaviest,
          },
        )),
  ];
}

/** The sides whose signals are taken back. An agent that left the task's environment left its sums there (AGT-34). */
export function findRatedSides({ task, provider, consumer }: ClosingFacts) {
  const isThere = (source: Pick<RatedSource, "agent"> | null) =>
    source?.agent.environment === task?.transaction.environment;
  return {
    provider: !!task && task.task.providerRatedBy !== null && isThere(provider),
    consumer: !!task && task.task.consumerRatedBy !== null && isThere(consumer),
  };
}
