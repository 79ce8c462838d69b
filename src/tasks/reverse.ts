// Ends the task of a settlement that a reorg removed (FAC-18). An open task becomes void and rates neither side; the signals of a closed task are
// taken back, as if it had never existed.
import { type RatedSource, rateAgent } from "../agents/rate.ts";
import type { Deps } from "../context.ts";
import { tryMove } from "../core/machine.ts";
import type { Statement } from "../db/batch.ts";
import { computeClockDifference } from "../db/clock.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { recordEventForParties } from "../journal/events.ts";
import { type ClosingFacts, computeSignals } from "./close.ts";
import { taskMachine } from "./states.ts";
import { moveTask, setVerdict } from "./store.ts";
import { toTaskView } from "./views.ts";

/** The sides whose signals are taken back. An agent that left the task's environment left its sums there (AGT-34). */
export function findRatedSides({ task, provider, consumer }: ClosingFacts) {
  const isThere = (source: Source | null) => source?.agent.environment === task?.transaction.environment;
  return {
    provider: !!task && task.task.providerRatedBy !== null && isThere(provider),
    consumer: !!task && task.task.consumerRatedBy !== null && isThere(consumer),
  };
}
type Source = Pick<RatedSource, "agent">;

/** The provider's escrows as the same batch leaves them. `turned`: the batch already changes the state of one of them. */
type EscrowsLeft = { readonly escrows: readonly EscrowRow[]; readonly turned: boolean };

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
