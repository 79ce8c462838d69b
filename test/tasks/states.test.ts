// Every state × trigger of the task (TSK-1, TSK-3, TSK-4).
import { describe, expect, it } from "vitest";
import { tryMove } from "../../src/core/machine.ts";
import { TASK_STATUSES } from "../../src/core/vocabulary.ts";
import { TASK_TRIGGERS, taskMachine, toEffectiveTask } from "../../src/tasks/states.ts";

const TABLE: Record<string, Record<string, string>> = {
  open: {
    confirm: "confirmed",
    confirm_late: "409 confirmation_window_closed",
    window_ends: "auto_confirmed",
    dispute: "disputed",
    dispute_ends: "409 invalid_status",
    dispute_withdrawn: "409 invalid_status",
    reverse: "void",
  },
  confirmed: {
    confirm: "409 task_already_closed",
    confirm_late: "409 task_already_closed",
    window_ends: "409 invalid_status",
    dispute: "409 invalid_status",
    dispute_ends: "409 invalid_status",
    dispute_withdrawn: "409 invalid_status",
    reverse: "409 invalid_status",
  },
  auto_confirmed: {
    confirm: "409 task_already_closed",
    confirm_late: "409 task_already_closed",
    window_ends: "409 invalid_status",
    dispute: "409 invalid_status",
    dispute_ends: "409 invalid_status",
    dispute_withdrawn: "409 invalid_status",
    reverse: "409 invalid_status",
  },
  disputed: {
    confirm: "409 invalid_status",
    confirm_late: "409 invalid_status",
    window_ends: "409 invalid_status",
    dispute: "409 invalid_status",
    dispute_ends: "confirmed",
    dispute_withdrawn: "open",
    reverse: "void",
  },
  void: {
    confirm: "409 invalid_status",
    confirm_late: "409 invalid_status",
    window_ends: "409 invalid_status",
    dispute: "409 invalid_status",
    dispute_ends: "409 invalid_status",
    dispute_withdrawn: "409 invalid_status",
    reverse: "409 invalid_status",
  },
};

describe("the task's machine", () => {
  it.each(TASK_STATUSES.flatMap((status) => TASK_TRIGGERS.map((trigger) => [status, trigger] as const)))(
    "%s × %s",
    (status, trigger) => {
      const outcome = tryMove(taskMachine, status, trigger);
      expect(outcome.ok ? outcome.move.to : `409 ${outcome.code}`).toBe(TABLE[status]?.[trigger]);
    },
  );
});

describe("a task past its window", () => {
  const task = { status: "open" as const, outcome: null, score: null, confirmBy: 1_000, closedAt: null };
  it("becomes auto-confirmed at that instant without a job", () => {
    expect(toEffectiveTask(task, 999)).toBe(task);
    expect(toEffectiveTask(task, 1_000)).toEqual({
      status: "auto_confirmed",
      outcome: "confirmed",
      score: 1,
      confirmBy: 1_000,
      closedAt: 1_000,
    });
    const held = { ...task, status: "disputed" as const };
    expect(toEffectiveTask(held, 2_000)).toBe(held);
  });
});
