// Finds rows whose end has passed, for jobs that work on them slice by slice. Each store names its own table.
import { getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Read, read } from "./batch.ts";

/** The table's key, of one or several columns, and its end, which an index orders. */
export type Ending = {
  readonly table: SQLiteTable;
  readonly key: SQLiteColumn | readonly SQLiteColumn[];
  readonly end: SQLiteColumn;
  /** A partial index and its condition, as literal text. The index is named, because SQLite would take another index that fits the condition. */
  readonly partial?: { readonly index: string; readonly only: SQL };
};
export type Ended = { readonly count: number; readonly oldest: number | null };

/** Counts the rows whose end is `by` or earlier, up to `most`, and finds the earliest end. */
export const countEnded = (db: Database, ending: Ending, by: number, most: number): Read<Ended> =>
  read(
    db
      .select({ count: sql<number>`count(*)`.as("count"), oldest: sql<number | null>`min(ended)`.as("oldest") })
      .from(first(ending, sql`${ending.end} as ended`, by, most)),
    ([row]) => row ?? { count: 0, oldest: null },
  );

/** The keys of at most `slice` of these rows, earliest end first, as an expression. */
export const endedKeys = (ending: Ending, by: number, slice: number): SQL => first(ending, keyOf(ending), by, slice);

/** The condition of a write of those rows. */
export const isEnded = (ending: Ending, by: number, slice: number): SQL =>
  sql`(${keyOf(ending)}) in ${endedKeys(ending, by, slice)}`;

const keyOf = ({ key }: Ending): SQL => sql.join([key].flat(), sql`, `);

const first = ({ table, end, partial }: Ending, columns: SQL, by: number, most: number): SQL =>
  sql`(select ${columns} from ${sql.identifier(getTableName(table))}
    ${partial ? sql`indexed by ${sql.identifier(partial.index)} where ${partial.only} and` : sql`where`}
    ${end} <= ${by} order by ${end} limit ${most})`;
