// The offset of a sandbox's clock (ACC-9). It is stored on the platform's row and read together with the rows whose time it rules. Production has
// one clock: an offset that comes with a row of it is 0, and reads no platform.
import { eq, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Database, type Read, read } from "./batch.ts";
import { platforms } from "./tables/accounts.ts";

/** A row with the offset of the clock that rules it, in milliseconds. */
export type Timed<T> = T & { readonly clockOffsetMs: number };
/** The offset is null where the caller's own clock rules, which the call reads with its credential. */
export type TimedFor<T> = T & { readonly clockOffsetMs: number | null };

/** A row, and the platform whose sandbox's clock rules it. */
type Ruled = { readonly environment: SQLiteColumn; readonly platformId: SQLiteColumn };
/** A row of two sides: the clock of its consumer's platform rules it. */
type OfSides = {
  readonly environment: SQLiteColumn;
  readonly consumerPlatformId: SQLiteColumn;
  readonly providerPlatformId: SQLiteColumn;
};

// Nested, because Drizzle leaves the table's name out of the columns of a single-table select, and platforms has a platform_id too.
const isSandbox = (environment: SQLiteColumn): SQL => sql`${sql`${environment}`} = 'sandbox'`;
const sandboxOffset = (platformId: SQLiteColumn): SQL =>
  sql`coalesce((select p.clock_offset_ms from platforms p where p.platform_id = ${sql`${platformId}`}), 0)`;
const offsetOf = ({ environment, platformId }: Ruled): SQL =>
  sql`case when ${isSandbox(environment)} then ${sandboxOffset(platformId)} else 0 end`;
const consumersOf = ({ environment, consumerPlatformId: platformId }: OfSides): Ruled => ({ environment, platformId });

export const clockOffsetOf = (row: Ruled): SQL.Aliased<number> => sql<number>`${offsetOf(row)}`.as("clock_offset_ms");

export const consumersOffsetOf = (row: OfSides): SQL.Aliased<number> => clockOffsetOf(consumersOf(row));

/** Saves the row of a platform whose agent is the caller. */
export const consumersOffsetFor = (
  caller: string,
  row: OfSides & { readonly consumerDid: SQLiteColumn },
): SQL.Aliased<number | null> =>
  sql<
    number | null
  >`case when ${sql`${row.consumerDid}`} = ${caller} then null else ${offsetOf(consumersOf(row))} end`.as(
    "clock_offset_ms",
  );

/** The offset of the provider's platform; null where one clock is that of both sides. */
export type OfTwoClocks = { readonly providerOffsetMs: number | null };

export const providersOffsetOf = (row: OfSides): SQL.Aliased<number | null> => {
  const { environment, providerPlatformId, consumerPlatformId } = row;
  return sql<
    number | null
  >`case when ${isSandbox(environment)} and ${sql`${providerPlatformId}`} <> ${sql`${consumerPlatformId}`}
    then ${sandboxOffset(providerPlatformId)} end`.as("provider_offset_ms");
};

/** By how much the clock of the provider's platform is ahead of the one that rules. */
export const apartOf = ({ clockOffsetMs, providerOffsetMs }: Timed<OfTwoClocks>): number =>
  providerOffsetMs === null ? 0 : providerOffsetMs - clockOffsetMs;

/** The offset of one platform's sandbox. */
export const findClockOffset = (db: Database, platformId: string | SQL<string>): Read<number> =>
  read(
    db.select({ clockOffsetMs: platforms.clockOffsetMs }).from(platforms).where(eq(platforms.platformId, platformId)),
    ([row]) => row?.clockOffsetMs ?? 0,
  );
