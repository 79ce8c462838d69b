// The clock that rules a task, as expressions of its row (ACC-9).
import { type SQL, sql } from "drizzle-orm";
import type { Clocks } from "./clocks.ts";

/** The instant on the clock that rules a task of its provider's, as an expression. */
export const rulingNow = ({ own, real }: Clocks): SQL =>
  sql`case when ruled_by is null then ${own} else ${real} + ${RULING_OFFSET} end`;

const RULING_OFFSET = sql`(select p.clock_offset_ms from platforms p where p.platform_id = ruled_by)`;

/** The offset of that clock; null where it is the asking agent's. A row of what it bought is never ruled by another's. */
export const rulingOffsetFor = (side: "provider" | "consumer"): SQL<number | null> =>
  side === "consumer"
    ? sql<number | null>`null`
    : sql<number | null>`case when ruled_by is null then null else ${RULING_OFFSET} end`;
