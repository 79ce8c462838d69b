// The offset of a sandbox's clock (ACC-9). It is stored on the platform's row and read together with the rows whose time it rules.
import { eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read } from "./batch.ts";
import { platforms } from "./tables/accounts.ts";

/** A row with the offset of the clock that rules it, in milliseconds. */
export type Timed<T> = T & { readonly clockOffsetMs: number };
/** The offset is null where the caller's own clock rules, which the call reads with its credential. */
export type TimedFor<T> = T & { readonly clockOffsetMs: number | null };

// Nested, because Drizzle leaves the table's name out of the columns of a single-table select, and platforms has a platform_id too.
const offsetOf = (platformId: SQLiteColumn): SQL =>
  sql`coalesce((select p.clock_offset_ms from platforms p where p.platform_id = ${sql`${platformId}`}), 0)`;

export const clockOffsetOf = (platformId: SQLiteColumn): SQL.Aliased<number> =>
  sql<number>`${offsetOf(platformId)}`.as("clock_offset_ms");

/** The same of a row that may be production's, which reads no platform for it. */
export const rulingOffsetOf = (row: {
  readonly environment: SQLiteColumn;
  readonly platformId: SQLiteColumn;
}): SQL.Aliased<number> =>
  sql<number>`case when ${sql`${row.environment}`} = 'sandbox' then ${offsetOf(row.platformId)} else 0 end`.as(
    "clock_offset_ms",
  );

/** Of a row that was read with the offset of its platform's sandbox: production never goes by it. */
export const rulingOffset = (environment: Environment, clockOffsetMs: number): number =>
  environment === "sandbox" ? clockOffsetMs : 0;

/** The offset of a second platform's sandbox, where a sandbox row has one; null where one clock rules both sides. */
export const otherOffsetOf = (
  row: { readonly environment: SQLiteColumn; readonly platformId: SQLiteColumn; readonly rulingId: SQLiteColumn },
  name: string,
): SQL.Aliased<number | null> =>
  sql<
    number | null
  >`case when ${sql`${row.environment}`} = 'sandbox' and ${sql`${row.platformId}`} <> ${sql`${row.rulingId}`}
    then ${offsetOf(row.platformId)} end`.as(name);

/** The offset of one platform's sandbox. */
export const findClockOffset = (db: Database, platformId: string | SQL<string>): Read<number> =>
  read(
    db.select({ clockOffsetMs: platforms.clockOffsetMs }).from(platforms).where(eq(platforms.platformId, platformId)),
    ([row]) => row?.clockOffsetMs ?? 0,
  );

/** Saves the row of a platform whose agent is the caller. */
export const clockOffsetFor = (
  caller: string,
  did: SQLiteColumn,
  platformId: SQLiteColumn,
): SQL.Aliased<number | null> =>
  sql<number | null>`case when ${sql`${did}`} = ${caller} then null else ${offsetOf(platformId)} end`.as(
    "clock_offset_ms",
  );
