// Confirms a task by its consumer within 72 hours, or by itself after them (TSK-2 to TSK-4).
import { addChangedRows, applyChangedRows, type ChangedRows, createChangedRows, pickRows } from "../agents/ratings.ts";
import type { AgentCall } from "../call.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { move, tryMove } from "../core/machine.ts";
import type { TaskOutcome } from "../core/vocabulary.ts";
import { type Database, type ReadResults, readBatch, type Statement } from "../db/batch.ts";
import { compileReads } from "../db/compiled.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { findEscrowsIn, findMarketsIn, findPublicAgents } from "../identity/store.ts";
import type { EachJob, SetResult } from "../jobs/job.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { findCounterpartiesIn, findHeaviestIn } from "../ratings/store.ts";
import { type Closed, type ClosingFacts, closeTask, prepareClosingReads } from "./close.ts";
import { refuseNonConsumers } from "./read.ts";
import type { ConfirmationView } from "./responses.ts";
import type { ConfirmInput } from "./schema.ts";
import { taskMachine } from "./states.ts";
import {
  findDueTasks,
  findTasks,
  pickCounterpartyPrincipals,
  selectRatedPairs,
  type TaskOfTwoClocks,
} from "./store.ts";

export const confirmTask = (call: AgentCall, taskId: string, input: ConfirmInput): Promise<ConfirmationView> =>
  retryUnderLocks(call.deps.env, async (touches) => {
    const { db, deps, now } = call;
    const facts = await call.read(prepareClosingReads(db, taskId), {
      clock: ({ task: found }) => found?.clockOffsetMs,
    });
    const task = facts.task?.task ?? null;
    refuseNonConsumers(call, task);
    touches([task.providerDid, task.consumerDid]);
    const late = now >= task.confirmBy;
    const confirmation = tryMove(taskMachine, task.status, late ? "confirm_late" : "confirm");
    if (confirmation.ok) {
      const closing = { ...toOutcome(input), note: input.note || null, at: now };
      const closed = closeTask(deps, facts, confirmation.move, closing, now);
      await call.commit(closed.statements, closed.view);
      return closed.view;
    }
    // The window is over and no job has recorded it yet, so this call does (TSK-4).
    if (confirmation.code === "confirmation_window_closed") await commitAll(deps, closeAtWindowEnd(deps, facts, now));
    const status = late && task.status === "open" ? "auto_confirmed" : task.status;
    throw new ServiceError(confirmation.code, { detail: { status } });
  });

/** `confirmed` and `rejected` imply their score; a score that is sent with them is not used (TSK-2). */
function toOutcome({ outcome, score }: ConfirmInput): { outcome: TaskOutcome; score: number } {
  if (outcome === "partial") return { outcome, score: score ?? 0 };
  return { outcome, score: outcome === "confirmed" ? 1 : 0 };
}

// ---- The end of the window -------------------------------------------------------------------------------------------------

/** Records the end of each window on the clock that rules it (ACC-9). A late or repeated run changes nothing. */
export const autoConfirmTasks: EachJob = {
  kind: "each",
  name: "auto_confirm_tasks",
  part: 10,
  find: async (deps, after, limit) => {
    const { due } = await readBatch(deps.db, {
      due: findDueTasks(deps.db, deps.clock.now(), after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: autoConfirmOne,
  recordSet: autoConfirmSet,
};

async function autoConfirmOne(deps: Deps, taskId: string): Promise<boolean> {
  return retryUnderLocks(deps.env, async (touches) => {
    const facts = await readBatch(deps.db, prepareClosingReads(deps.db, taskId));
    const now = deps.clock.now();
    if (!facts.task || !isDue(facts, now)) return false;
    touches([facts.task.task.providerDid, facts.task.task.consumerDid]);
    await commitAll(deps, closeAtWindowEnd(deps, facts, now + facts.task.clockOffsetMs));
    return true;
  });
}

/** Compares on the task's own clock. */
const isDue = ({ task }: ClosingFacts, now: number): boolean =>
  task !== null && task.task.status === "open" && now + task.clockOffsetMs >= task.task.confirmBy;

/** Records the tasks in one batch. A task that changes an escrow's state is recorded alone, because it has more consequences. */
async function autoConfirmSet(deps: Deps, taskIds: readonly string[]): Promise<SetResult> {
  const { db, clock } = deps;
  const read = await readClosingFacts(db, taskIds);
  const rows = createChangedRows();
  const statements: Statement[] = [];
  const alone: string[] = [];
  let done = 0;
  for (const taskId of taskIds) {
    const facts = read.get(taskId);
    if (!facts || !isDue(facts, clock.now())) continue;
    const closed = closeUnanswered(deps, applyChanges(facts, rows), clock.now() + (facts.task?.clockOffsetMs ?? 0));
    if (closed.sides.provider?.turnsEscrow) alone.push(taskId);
    else {
      const { provider, consumer } = closed.sides;
      for (const side of [provider, consumer]) if (side) addChangedRows(rows, side);
      statements.push(...closed.statements);
      done += 1;
    }
  }
  await commitAll(deps, statements);
  return { done, alone };
}

/** Closes the task at the end of its window, however late this is recorded. */
export const closeAtWindowEnd = (deps: Deps, facts: ClosingFacts, now: number): Statement[] =>
  closeUnanswered(deps, facts, now).statements;

function closeUnanswered(deps: Deps, facts: ClosingFacts, now: number): Closed {
  if (!facts.task) throw new Error("a task without its row");
  const { status, confirmBy } = facts.task.task;
  const closing = { outcome: "confirmed", score: 1, note: null, at: confirmBy } as const;
  return closeTask(deps, facts, move(taskMachine, status, "window_ends"), closing, now);
}

// ---- Several tasks in one batch --------------------------------------------------------------------------------------------

const buildReadsOfSeveral = compileReads((db, taskIds) => {
  const [sold, bought] = [selectRatedPairs(taskIds, "provider"), selectRatedPairs(taskIds, "consumer")];
  return {
    tasks: findTasks(db, taskIds),
    providers: findPublicAgents(db, sold),
    consumers: findPublicAgents(db, bought),
    markets: findMarketsIn(db, sold),
    escrows: findEscrowsIn(db, sold),
    providersHeaviest: findHeaviestIn(db, sold),
    consumersHeaviest: findHeaviestIn(db, bought),
    providersCounterparties: findCounterpartiesIn(db, sold),
    consumersCounterparties: findCounterpartiesIn(db, bought),
  };
});

/** Reads the facts of the tasks that exist, by id, in one trip with as many statements as for one task. */
async function readClosingFacts(db: Database, taskIds: readonly string[]): Promise<ReadonlyMap<string, ClosingFacts>> {
  const found = await readBatch(db, buildReadsOfSeveral(db, JSON.stringify(taskIds)));
  return new Map(found.tasks.map((task) => [task.task.taskId, pickFacts(found, task)]));
}

function pickFacts(found: ReadResults<ReturnType<typeof buildReadsOfSeveral>>, task: TaskOfTwoClocks): ClosingFacts {
  const { providerDid, consumerDid, environment } = task.task;
  const under = pickCounterpartyPrincipals(task.task);
  const isSellers = (row: Pick<EscrowRow, "did" | "environment">) =>
    row.did === providerDid && row.environment === environment;
  const sold = { heaviest: found.providersHeaviest, counterparties: found.providersCounterparties };
  const bought = { heaviest: found.consumersHeaviest, counterparties: found.consumersCounterparties };
  const sellers = pickRows({ did: providerDid, environment }, under.provider, sold);
  const buyers = pickRows({ did: consumerDid, environment }, under.consumer, bought);
  return {
    task,
    provider: found.providers.find(({ agent }) => agent.did === providerDid) ?? null,
    consumer: found.consumers.find(({ agent }) => agent.did === consumerDid) ?? null,
    markets: found.markets.filter(isSellers),
    escrows: found.escrows.filter(isSellers),
    providerHeaviest: sellers.heaviest,
    providerCounterparty: sellers.counterparty,
    consumerHeaviest: buyers.heaviest,
    consumerCounterparty: buyers.counterparty,
  };
}

/** Returns the facts as the earlier tasks of the batch leave them, because tasks may share agents. */
function applyChanges(facts: ClosingFacts, rows: ChangedRows): ClosingFacts {
  const { task, provider, consumer } = facts;
  if (!task || !provider || !consumer) return facts;
  const under = pickCounterpartyPrincipals(task.task);
  const sold = {
    ...provider,
    escrows: facts.escrows,
    counterparty: facts.providerCounterparty,
    heaviest: facts.providerHeaviest,
  };
  const bought = {
    ...consumer,
    escrows: [],
    counterparty: facts.consumerCounterparty,
    heaviest: facts.consumerHeaviest,
  };
  const seller = applyChangedRows(rows, sold, under.provider);
  const buyer = applyChangedRows(rows, bought, under.consumer);
  return {
    ...facts,
    provider: { ...provider, agent: seller.agent },
    consumer: { ...consumer, agent: buyer.agent },
    escrows: seller.escrows,
    providerCounterparty: seller.counterparty,
    providerHeaviest: seller.heaviest,
    consumerCounterparty: buyer.counterparty,
    consumerHeaviest: buyer.heaviest,
  };
}
