// The clock that rules each task of a provider (ACC-9), as expressions for stores.
import { type SQL, sql } from "drizzle-orm";
import type { Side } from "../core/vocabulary.ts";
import type { Clocks } from "./clocks.ts";

const RULING_OFFSET = sql`(select p.clock_offset_ms from platforms p where p.platform_id = ruled_by)`;

/** The present instant on the ruling clock. */
export const selectRulingNow = ({ own, real }: Clocks): SQL =>
  sql`case when ruled_by is null then ${own} else ${real} + ${RULING_OFFSET} end`;

/** The offset of the ruling clock, or null where the asking agent's clock rules, as it always does for tasks that the agent bought. */
export const selectRulingOffset = (side: Side): SQL<number | null> =>
  side === "consumer"
    ? sql<number | null>`null`
    : sql<number | null>`case when ruled_by is null then null else ${RULING_OFFSET} end`;
