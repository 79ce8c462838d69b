// The offset of a sandbox's clock (ACC-9). It is stored on the platform's row and read together with the rows whose time it rules.
import { type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";

/** A row with the offset of the clock that rules it, in milliseconds. */
export type Timed<T> = T & { readonly clockOffsetMs: number };

export const clockOffsetOf = (platformId: SQLiteColumn): SQL.Aliased<number> =>
  // Nested, because Drizzle leaves the table's name out of the columns of a single-table select, and platforms has a platform_id too.
  sql<number>`coalesce((select p.clock_offset_ms from platforms p where p.platform_id = ${sql`${platformId}`}), 0)`.as(
    "clock_offset_ms",
  );
