// The clocks of an agent's tasks (ACC-9). A bought task goes by the clock of the agent's own platform, a sold one by the clock of the buyer's
// platform. No clock is behind real time.
import type { AgentCall, ManagementCall } from "../call.ts";
import type { TaskRow } from "../db/tables/money.ts";

/** Epoch milliseconds: `own` is the asking agent's clock, `real` is real time. */
export type Clocks = { readonly own: number; readonly real: number };

export const readClocks = ({ now, deps }: AgentCall | ManagementCall): Clocks => ({
  own: now,
  real: Math.min(now, deps.clock.now()),
});

/** A task with the offset of the clock that rules it; null where the asking agent's clock does. */
export type ClockedTask = TaskRow & { readonly clockOffsetMs: number | null };

export const computeTaskNow = ({ own, real }: Clocks, { clockOffsetMs }: ClockedTask): number =>
  clockOffsetMs === null ? own : real + clockOffsetMs;
