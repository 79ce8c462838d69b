// The clocks of an agent's tasks (ACC-9). What it bought goes by its own platform's clock, what it sold by that of each buyer's platform; none of
// them is behind real time.
import type { AgentCall, ManagementCall } from "../call.ts";
import type { TaskRow } from "../db/tables/money.ts";

/** Epoch milliseconds: the asking agent's, and real time. */
export type Clocks = { readonly own: number; readonly real: number };

export const clocksOf = ({ now, deps }: AgentCall | ManagementCall): Clocks => ({
  own: now,
  real: Math.min(now, deps.clock.now()),
});

/** A task with the offset of the clock that rules it, null where the asking agent's does. */
export type ClockedTask = TaskRow & { readonly clockOffsetMs: number | null };

export const nowOf = ({ own, real }: Clocks, { clockOffsetMs }: ClockedTask): number =>
  clockOffsetMs === null ? own : real + clockOffsetMs;
