// The clocks of an agent's tasks (ACC-9). What it bought goes by its own platform's clock, what it sold by that of each buyer's platform; none of
// them is behind real time.
import { type SQL, sql } from "drizzle-orm";
import type { AgentCall, ManagementCall } from "../call.ts";
import type { TaskRow } from "../db/tables/money.ts";

/** Epoch milliseconds: the asking agent's, and real time. */
export type Clocks = { readonly own: number; readonly real: number };

export const clocksOf = ({ now, deps }: AgentCall | ManagementCall): Clocks => ({
  own: now,
  real: Math.min(now, deps.clock.now()),
});

/** The instant on the clock that rules a task of its provider's, as an expression. */
export const rulingNow = ({ own, real }: Clocks): SQL =>
  sql`case when ruled_by is null then ${own} else ${real} + ${RULING_OFFSET} end`;

const RULING_OFFSET = sql`(select p.clock_offset_ms from platforms p where p.platform_id = ruled_by)`;

/** The offset of that clock; null where it is the asking agent's. A row of what it bought is never ruled by another's. */
export const rulingOffsetFor = (side: "provider" | "consumer"): SQL<number | null> =>
  side === "consumer"
    ? sql<number | null>`null`
    : sql<number | null>`case when ruled_by is null then null else ${RULING_OFFSET} end`;

/** A task with the offset of the clock that rules it, null where the asking agent's does. */
export type ClockedTask = TaskRow & { readonly clockOffsetMs: number | null };

export const nowOf = ({ own, real }: Clocks, { clockOffsetMs }: ClockedTask): number =>
  clockOffsetMs === null ? own : real + clockOffsetMs;
