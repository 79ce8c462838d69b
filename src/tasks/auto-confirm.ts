// Auto-confirms tasks that nobody answered within 72 hours (TSK-3).
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { move } from "../core/machine.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import type { EachJob } from "../jobs/job.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { type ClosingFacts, closeTask, closingReads } from "./close.ts";
import { taskMachine } from "./states.ts";
import { findDueTasks } from "./store.ts";

/** Closes the task at the end of its window, however late that is recorded. */
export function autoConfirmed(deps: Deps, facts: ClosingFacts, now: number): Statement[] {
  if (!facts.task) throw new Error("a task without its row");
  const { status, confirmBy } = facts.task.task;
  const closing = { outcome: "confirmed", score: 1, note: null, at: confirmBy } as const;
  return closeTask(deps, facts, move(taskMachine, status, "window_ends"), closing, now).statements;
}

/** Records the end of each window, on the clock that rules it (ACC-9). Running late or twice makes no difference. */
export const autoConfirmTasks: EachJob = {
  kind: "each",
  name: "auto_confirm_tasks",
  find: async (deps, after, limit) => {
    const { due } = await readBatch(deps.db, { due: findDueTasks(deps.db, deps.clock.now(), after ?? FIRST, limit) });
    return due;
  },
  record: autoConfirmOne,
};

async function autoConfirmOne(deps: Deps, taskId: string): Promise<boolean> {
  return retryUnderLocks(deps.env, async (touches) => {
    const facts = await readBatch(deps.db, closingReads(deps.db, taskId));
    const task = facts.task?.task;
    if (!facts.task || !task) return false;
    const now = deps.clock.now() + facts.task.clockOffsetMs;
    if (task.status !== "open" || now < task.confirmBy) return false;
    touches([task.providerDid, task.consumerDid]);
    await commitAll(deps, autoConfirmed(deps, facts, now));
    return true;
  });
}
