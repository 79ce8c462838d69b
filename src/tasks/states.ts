// The task's state machine as data, and a task's state at an instant (TSK-1, TSK-3, TSK-4).
import { defineMachine, refuse } from "../core/machine.ts";
import { TASK_STATUSES, type TaskOutcome, type TaskStatus } from "../core/vocabulary.ts";

/** A dispute holds an open task; its end closes it, and its withdrawal resumes the window. `reverse` comes from a reorg (FAC-18). */
export const TASK_TRIGGERS = [
  "confirm",
  "confirm_late",
  "window_ends",
  "dispute",
  "dispute_ends",
  "dispute_withdrawn",
  "reverse",
] as const;
export type TaskTrigger = (typeof TASK_TRIGGERS)[number];

export const taskMachine = defineMachine<TaskStatus, TaskTrigger>({
  name: "task",
  states: TASK_STATUSES,
  triggers: TASK_TRIGGERS,
  table: {
    open: {
      confirm: "confirmed",
      confirm_late: refuse("confirmation_window_closed"),
      window_ends: "auto_confirmed",
      dispute: "disputed",
      reverse: "void",
    },
    confirmed: { confirm: refuse("task_already_closed"), confirm_late: refuse("task_already_closed") },
    auto_confirmed: { confirm: refuse("task_already_closed"), confirm_late: refuse("task_already_closed") },
    disputed: { dispute_ends: "confirmed", dispute_withdrawn: "open", reverse: "void" },
  },
});

type TaskState = {
  status: TaskStatus;
  outcome: TaskOutcome | null;
  score: number | null;
  confirmBy: number;
  closedAt: number | null;
};

/** From 72 hours on the task is auto-confirmed, whether or not a job has recorded it (TSK-3). */
export function toEffectiveTask<T extends TaskState>(task: T, now: number): T {
  if (task.status !== "open" || now < task.confirmBy) return task;
  return { ...task, status: "auto_confirmed", outcome: "confirmed", score: 1, closedAt: task.confirmBy };
}
