// Finds rows whose end has passed, for jobs that work on them slice by slice. Each store names its own table.
import { getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Read, read } from "./batch.ts";

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

/** The condition of a write of those rows. */
export const isEnded = (ending: EndingTable, by: number, slice: number): SQL =>
  sql`(${joinKey(ending)}) in ${selectEndedKeys(ending, by, slice)}`;

const joinKey = ({ key }: EndingTable): SQL => sql.join([key].flat(), sql`, `);

const selectFirstEnded = ({ table, end, partial }: EndingTable, columns: SQL, by: number, most: number): SQL =>
  sql`(select ${columns} from ${sql.identifier(getTableName(table))}
    ${partial ? sql`indexed by ${sql.identifier(partial.index)} where ${partial.only} and` : sql`where`}
    ${end} <= ${by} order by ${end} limit ${most})`;
