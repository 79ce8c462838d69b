// Specification 3.5: a task is closed by its consumer's confirmation, or by itself when 72 hours have passed. Either way
// the task, both agents' ratings and documents, and the events change together or not at all.
import { recordEventForParties } from "../activity/store.ts";
import { environmentOf, findEscrows, findMarkets, findPublicAgent } from "../agents/store.ts";
import type { AgentCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { type Move, move, tryMove } from "../core/machine.ts";
import { commit, type Database, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import type { Environment } from "../db/scope.ts";
import { type ClosedTask, taskSignals } from "../ratings/rating.ts";
import { findCounterparty, findHeaviest } from "../ratings/store.ts";
import type { ConfirmationView, ConfirmInput } from "../tasks/schema.ts";
import { refuseOthers } from "../tasks/service.ts";
import { type Outcome, type TaskStatus, taskMachine } from "../tasks/states.ts";
import {
  findDueTasks,
  findTask,
  moveTask,
  partyOf,
  principalOfParty,
  type TaskRow,
  type TransactionRow,
} from "../tasks/store.ts";
import { toTaskView } from "../tasks/views.ts";
import { inTurn } from "./in-turn.ts";
import { rateAgent } from "./rate-agent.ts";
import { sweepEach } from "./sweep.ts";

export async function confirmTask(call: AgentCall, taskId: string, input: ConfirmInput): Promise<ConfirmationView> {
  const { db, deps, now } = call;
  const view = await inTurn(deps, async (touches) => {
    const found = await call.read(closingReads(db, taskId));
    const task = found.task?.task ?? null;
    refuseOthers(call, task);
    touches([task.providerDid, task.consumerDid]);
    const late = now >= task.confirmBy;
    const confirmation = tryMove(taskMachine, task.status as TaskStatus, late ? "confirm_late" : "confirm");
    if (confirmation.ok) {
      const closed = await closeTask(
        deps,
        found,
        confirmation.move,
        { ...outcomeOf(input), note: input.note ?? null, at: now },
        now,
      );
      await call.commit(closed.statements, closed.view);
      return closed.view;
    }
    if (confirmation.code === "confirmation_window_closed") await commit(db, await autoConfirmed(deps, found, now));
    throw new ServiceError(confirmation.code, {
      detail: { status: late && task.status === "open" ? "auto_confirmed" : task.status },
    });
  });
  return view;
}

/** `confirmed` and `rejected` say their score; a score that is sent with them is not needed and not used. */
function outcomeOf({ outcome, score }: ConfirmInput): { outcome: Outcome; score: number } {
  if (outcome === "partial") return { outcome, score: score ?? 0 };
  return { outcome, score: outcome === "confirmed" ? 1 : 0 };
}

/** All that closing needs, in one trip and of constant size: no read grows with the agents' history. */
const closingReads = (db: Database, taskId: string) => {
  const provider = partyOf(taskId, "provider");
  const consumer = partyOf(taskId, "consumer");
  const environment = environmentOf(provider);
  return {
    task: findTask(db, taskId),
    provider: findPublicAgent(db, provider),
    consumer: findPublicAgent(db, consumer),
    markets: findMarkets(db, provider, environment),
    escrows: findEscrows(db, provider, environment),
    providerHeaviest: findHeaviest(db, provider),
    consumerHeaviest: findHeaviest(db, consumer),
    providerCounterparty: findCounterparty(db, provider, principalOfParty(taskId, "consumer")),
    consumerCounterparty: findCounterparty(db, consumer, principalOfParty(taskId, "provider")),
  };
};
type Found = ReadResults<ReturnType<typeof closingReads>>;
type Closing = { outcome: Outcome; score: number; note: string | null; at: number };

async function closeTask(
  deps: Deps,
  found: Found,
  taskMove: Move<TaskStatus>,
  { at, ...closing }: Closing,
  now: number,
): Promise<{ statements: Statement[]; view: ConfirmationView }> {
  const { db, config } = deps;
  const { provider, consumer } = found;
  if (!found.task || !provider || !consumer) throw new Error("a task without its parties");
  const { transaction } = found.task;
  const task: TaskRow = { ...found.task.task, ...closing, status: taskMove.to, closedAt: at };
  const signals = taskSignals(
    config.rating[transaction.environment as Environment],
    asClosed(config, task, transaction, at),
  );
  const shared = { at, now, volume: transaction.gross };
  const ratedProvider = await rateAgent(
    db,
    deps,
    { ...provider, markets: found.markets, escrows: found.escrows },
    {
      ...shared,
      add: signals.provider,
      counterpartyPrincipalId: consumer.agent.principalId,
      counterparty: found.providerCounterparty,
      heaviest: found.providerHeaviest,
    },
  );
  const ratedConsumer = await rateAgent(
    db,
    deps,
    { ...consumer, markets: [], escrows: [] },
    {
      ...shared,
      add: signals.consumer,
      counterpartyPrincipalId: provider.agent.principalId,
      counterparty: found.consumerCounterparty,
      heaviest: found.consumerHeaviest,
    },
  );
  const object = toTaskView(config, { task, transaction }, now);
  const parties = [transaction.providerPlatformId, transaction.consumerPlatformId];
  return {
    statements: [
      ...moveTask(db, task.taskId, taskMove, { ...closing, closedAt: at }),
      ...ratedProvider.statements,
      ...ratedConsumer.statements,
      ...recordEventForParties(db, parties, task.environment, now, { type: "task.closed", object }),
    ],
    view: {
      task_id: task.taskId,
      status: taskMove.to,
      outcome: closing.outcome,
      score: closing.score,
      provider_r_i: signals.provider.r,
      consumer_r_i: signals.consumer.r,
      provider_ar: ratedProvider.source.agent.agentRating,
      consumer_ar: ratedConsumer.source.agent.agentRating,
      closed_at: toIso(at),
    },
  };
}

/** A closed task in the words of the rating. */
function asClosed(config: Deps["config"], task: TaskRow, transaction: TransactionRow, closedAt: number): ClosedTask {
  const decimals = config.networks.find((known) => known.network === transaction.network)?.decimals ?? 6;
  return {
    outcome: task.status === "auto_confirmed" ? "auto_confirmed" : (task.outcome as Outcome),
    score: task.score,
    amountWholeUnits: transaction.gross / 10 ** decimals,
    openedAt: task.openedAt,
    closedAt,
  };
}

/** 3.5: treated as satisfactory, at its own instant however late it is recorded. */
async function autoConfirmed(deps: Deps, found: Found, now: number): Promise<Statement[]> {
  if (!found.task) throw new Error("a task without its row");
  const { task } = found.task;
  const closing = { outcome: "confirmed", score: 1, note: null, at: task.confirmBy } as const;
  const closed = await closeTask(
    deps,
    found,
    move(taskMachine, task.status as TaskStatus, "window_ends"),
    closing,
    now,
  );
  return closed.statements;
}

/** The sweep: records what has been so since each task's own instant. Late or twice makes no difference. */
export async function autoConfirmTasks(deps: Deps, slice: number): Promise<number> {
  const now = deps.clock.now();
  const { due } = await readBatch(deps.db, { due: findDueTasks(deps.db, now, slice) });
  return sweepEach(due, (taskId) => autoConfirmOne(deps, taskId, now));
}

const autoConfirmOne = (deps: Deps, taskId: string, now: number): Promise<boolean> =>
  inTurn(deps, async (touches) => {
    const found = await readBatch(deps.db, closingReads(deps.db, taskId));
    const task = found.task?.task;
    if (task?.status !== "open" || now < task.confirmBy) return false;
    touches([task.providerDid, task.consumerDid]);
    await commit(deps.db, await autoConfirmed(deps, found, now));
    return true;
  });
