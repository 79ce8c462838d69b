// The offset of a sandbox's clock (ACC-9). It is stored on the platform's row and read together with the rows that the clock rules. Production has
// one clock: an offset that comes with a production row is 0, and reads no platform. Also finds rows whose end has passed.
import { eq, getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Read, read } from "./batch.ts";
import { platforms } from "./tables/accounts.ts";

/** A row with the offset of the clock that rules it, in milliseconds. */
export type Timed<T> = T & { readonly clockOffsetMs: number };
/** The offset is null where the caller's own clock rules: the call already reads that clock with its credential. */
export type TimedFor<T> = T & { readonly clockOffsetMs: number | null };

type RuledRow = { readonly environment: SQLiteColumn; readonly platformId: SQLiteColumn };
/** Ruled by the clock of its consumer's platform. */
type SidedRow = {
  readonly environment: SQLiteColumn;
  readonly consumerPlatformId: SQLiteColumn;
  readonly providerPlatformId: SQLiteColumn;
};

// Nested, because Drizzle leaves the table's name out of the columns of a single-table select, and platforms has a platform_id too.
const isSandbox = (environment: SQLiteColumn): SQL => sql`${sql`${environment}`} = 'sandbox'`;
const selectSandboxOffset = (platformId: SQLiteColumn): SQL =>
  sql`coalesce((select p.clock_offset_ms from platforms p where p.platform_id = ${sql`${platformId}`}), 0)`;
const selectOffset = ({ environment, platformId }: RuledRow): SQL =>
  sql`case when ${isSandbox(environment)} then ${selectSandboxOffset(platformId)} else 0 end`;
const toConsumerRuled = ({ environment, consumerPlatformId: platformId }: SidedRow): RuledRow => ({
  environment,
  platformId,
});

export const selectClockOffset = (row: RuledRow): SQL.Aliased<number> =>
  sql<number>`${selectOffset(row)}`.as("clock_offset_ms");

export const selectConsumersOffset = (row: SidedRow): SQL.Aliased<number> => selectClockOffset(toConsumerRuled(row));

/** Does not read the platform's row if its agent is the caller. */
export const selectConsumersOffsetForCaller = (
  caller: string,
  row: SidedRow & { readonly consumerDid: SQLiteColumn },
): SQL.Aliased<number | null> =>
  sql<
    number | null
  >`case when ${sql`${row.consumerDid}`} = ${caller} then null else ${selectOffset(toConsumerRuled(row))} end`.as(
    "clock_offset_ms",
  );

/** Null if both sides have the same clock. */
export type WithProviderOffset = { readonly providerOffsetMs: number | null };

export const selectProvidersOffset = (row: SidedRow): SQL.Aliased<number | null> => {
  const { environment, providerPlatformId, consumerPlatformId } = row;
  return sql<
    number | null
  >`case when ${isSandbox(environment)} and ${sql`${providerPlatformId}`} <> ${sql`${consumerPlatformId}`}
    then ${selectSandboxOffset(providerPlatformId)} end`.as("provider_offset_ms");
};

export const computeClockDifference = ({ clockOffsetMs, providerOffsetMs }: Timed<WithProviderOffset>): number =>
  providerOffsetMs === null ? 0 : providerOffsetMs - clockOffsetMs;

export const findClockOffset = (db: Database, platformId: string | SQL<string>): Read<number> =>
  read(
    db.select({ clockOffsetMs: platforms.clockOffsetMs }).from(platforms).where(eq(platforms.platformId, platformId)),
    ([row]) => row?.clockOffsetMs ?? 0,
  );

// ---- Ended rows, for jobs that work slice by slice ----------------------------------------------------------------------

/** The table's key, of one or several columns, and its end, which an index orders. */
export type EndingTable = {
  readonly table: SQLiteTable;
  readonly key: SQLiteColumn | readonly SQLiteColumn[];
  readonly end: SQLiteColumn;
  /** A partial index and its condition, as literal text. The index is named, because SQLite would take another index that fits the condition. */
  readonly partial?: { readonly index: string; readonly only: SQL };
};
export type EndedCount = { readonly count: number; readonly oldest: number | null };

/** Counts the rows whose end is `by` or earlier, up to `most`, and finds the earliest end. */
export const countEnded = (db: Database, ending: EndingTable, by: number, most: number): Read<EndedCount> =>
  read(
    db
      .select({ count: sql<number>`count(*)`.as("count"), oldest: sql<number | null>`min(ended)`.as("oldest") })
      .from(selectFirstEnded(ending, sql`${ending.end} as ended`, by, most)),
    ([row]) => row ?? { count: 0, oldest: null },
  );

/** The keys of at most `slice` of these rows, earliest end first, as an expression. */
export const selectEndedKeys = (ending: EndingTable, by: number, slice: number): SQL =>
  selectFirstEnded(ending, joinKey(ending), by, slice);

export const isEnded = (ending: EndingTable, by: number, slice: number): SQL =>
  sql`(${joinKey(ending)}) in ${selectEndedKeys(ending, by, slice)}`;

const joinKey = ({ key }: EndingTable): SQL => sql.join([key].flat(), sql`, `);

const selectFirstEnded = ({ table, end, partial }: EndingTable, columns: SQL, by: number, most: number): SQL =>
  sql`(select ${columns} from ${sql.identifier(getTableName(table))}
    ${partial ? sql`indexed by ${sql.identifier(partial.index)} where ${partial.only} and` : sql`where`}
    ${end} <= ${by} order by ${end} limit ${most})`;
