// Auto-confirms tasks whose consumer did not answer within 72 hours (TSK-3).
import { addChangedRows, createChangedRows } from "../agents/rated-rows.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { move } from "../core/machine.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import type { EachJob, SetResult } from "../jobs/job.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { type Closed, type ClosingFacts, closeTask, prepareClosingReads } from "./close.ts";
import { applyChanges, readClosingFacts } from "./close-several.ts";
import { taskMachine } from "./states.ts";
import { findDueTasks } from "./store.ts";

/** Closes the task at the end of its window, however late this is recorded. */
export const closeAtWindowEnd = (deps: Deps, facts: ClosingFacts, now: number): Statement[] =>
  closeUnanswered(deps, facts, now).statements;

function closeUnanswered(deps: Deps, facts: ClosingFacts, now: number): Closed {
  if (!facts.task) throw new Error("a task without its row");
  const { status, confirmBy } = facts.task.task;
  const closing = { outcome: "confirmed", score: 1, note: null, at: confirmBy } as const;
  return closeTask(deps, facts, move(taskMachine, status, "window_ends"), closing, now);
}

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
