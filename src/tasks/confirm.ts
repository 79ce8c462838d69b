// Confirms a task by its consumer, within 72 hours (TSK-2 to TSK-4).
import type { AgentCall } from "../call.ts";
import { commitAll } from "../commit.ts";
import { ServiceError } from "../core/errors.ts";
import { tryMove } from "../core/machine.ts";
import type { TaskOutcome } from "../core/vocabulary.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { closeAtWindowEnd } from "./auto-confirm.ts";
import { closeTask, prepareClosingReads } from "./close.ts";
import { refuseNonConsumers } from "./read.ts";
import type { ConfirmationView } from "./responses.ts";
import type { ConfirmInput } from "./schema.ts";
import { taskMachine } from "./states.ts";

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
