// Rows with an end, for jobs that work on what has ended slice by slice. The stores name their own table.
import { getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Read, read } from "./batch.ts";

/** The table's key, of one column or several, and its end, which an index orders. */
export type Ending = {
  readonly table: SQLiteTable;
  readonly key: SQLiteColumn | readonly SQLiteColumn[];
  readonly end: SQLiteColumn;
  /** A partial index and its condition, as literal text. It is named, because SQLite would take another index that fits the condition. */
  readonly partial?: { readonly index: string; readonly only: SQL };
};
export type Ended = { readonly count: number; readonly oldest: number | null };

/** The number of rows whose end is `by` or before, counted up to `most`, and the first of the ends. */
export const countEnded = (db: Database, ending: Ending, by: number, most: number): Read<Ended> =>
  read(
    db
      .select({ count: sql<number>`count(*)`.as("count"), oldest: sql<number | null>`min(ended)`.as("oldest") })
      .from(first(ending, sql`${ending.end} as ended`, by, most)),
    ([row]) => row ?? { count: 0, oldest: null },
  );

/** The keys of at most `slice` of them, the first ended first, as an expression. */
export const endedKeys = (ending: Ending, by: number, slice: number): SQL => first(ending, keyOf(ending), by, slice);

/** The condition of a write of those rows. */
export const isEnded = (ending: Ending, by: number, slice: number): SQL =>
  sql`(${keyOf(ending)}) in ${endedKeys(ending, by, slice)}`;

const keyOf = ({ key }: Ending): SQL => sql.join([key].flat(), sql`, `);

const first = ({ table, end, partial }: Ending, columns: SQL, by: number, most: number): SQL =>
  sql`(select ${columns} from ${sql.identifier(getTableName(table))}
    ${partial ? sql`indexed by ${sql.identifier(partial.index)} where ${partial.only} and` : sql`where`}
    ${end} <= ${by} order by ${end} limit ${most})`;
