// Ends the task of a settlement that a reorganisation took away (FAC-18): an open one is void and rates nobody, and the signals of a closed one
// are taken back, as if it had never been.
import { type RatedSource, rateAgent } from "../agents/rate.ts";
import type { Deps } from "../context.ts";
import { tryMove } from "../core/machine.ts";
import type { Database, Statement } from "../db/batch.ts";
import { apartOf } from "../db/clock.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { recordEventForParties } from "../journal/events.ts";
import { findCounterpartyOf } from "../ratings/store.ts";
import { type ClosingFacts, closingReads, signalsOf } from "./close.ts";
import { taskMachine } from "./states.ts";
import { moveTask, ratedByOf } from "./store.ts";
import { toTaskView } from "./views.ts";

/** The reads of closing, with the counterparties of that time: an agent may have come to another principal since. */
export const reversalReads = (db: Database, taskId: string) => ({
  ...closingReads(db, taskId),
  providerCounterparty: findCounterpartyOf(db, ratedByOf(taskId, "provider")),
  consumerCounterparty: findCounterpartyOf(db, ratedByOf(taskId, "consumer")),
});

/** `escrows`: the provider's, as the same batch leaves them. */
export function reverseTask(deps: Deps, facts: ClosingFacts, escrows: readonly EscrowRow[], now: number): Statement[] {
  const { db, config } = deps;
  if (!facts.task) throw new Error("a task without its row");
  const { task, transaction } = facts.task;
  const reversal = tryMove(taskMachine, task.status, "reverse");
  if (!reversal.ok) return takeBack(deps, facts, escrows, now);
  const ended = { answer: "void", closedAt: now } as const;
  const object = toTaskView(config, { ...task, ...ended, status: reversal.move.to }, now);
  return [
    ...moveTask(db, task.taskId, reversal.move, ended),
    ...recordEventForParties(db, transaction, now, { type: "task.closed", object }),
  ];
}

function takeBack(deps: Deps, facts: ClosingFacts, escrows: readonly EscrowRow[], now: number): Statement[] {
  if (!facts.task) throw new Error("a task without its row");
  const { task, transaction } = facts.task;
  const { providerRatedBy, providerRatedAt, consumerRatedBy, closedAt } = task;
  const { provider, consumer } = facts;
  if (!provider || !consumer || closedAt === null) throw new Error("a closed task without its parties or its end");
  const signals = signalsOf(deps, task, transaction, closedAt);
  const volume = { currency: transaction.currency, units: -transaction.gross };
  const shared = { at: closedAt, now, takenBack: true, volume } as const;
  // One that has left the task's environment has left its sums behind (AGT-34).
  const rate = (source: RatedSource, signal: Parameters<typeof rateAgent>[3]): Statement[] =>
    source.agent.environment === transaction.environment ? rateAgent(deps.db, deps, source, signal).statements : [];
  return [
    ...(providerRatedBy === null
      ? []
      : rate(
          { ...provider, markets: facts.markets, escrows: [...escrows] },
          {
            ...shared,
            at: providerRatedAt ?? closedAt,
            now: now + apartOf(facts.task),
            add: signals.provider,
            counterpartyPrincipalId: providerRatedBy,
            counterparty: facts.providerCounterparty,
            heaviest: facts.providerHeaviest,
          },
        )),
    ...(consumerRatedBy === null
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
