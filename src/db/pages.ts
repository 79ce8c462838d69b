// Pages of lists: the newest rows of one table, and lists that merge several ranges of an index, or that filter by what no index finds (HTTP-27,
// PRN-14). SQLite yields the rows of one or several merged ranges one by one in the order of their index, so reading ends with the page.
import { and, desc, getTableColumns, type InferSelectModel, lt, type SQL, sql } from "drizzle-orm";
import type { SelectedFields, SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { AskedRows, FoundRows, Position } from "../core/page.ts";
import { type Database, type Read, read, readAll } from "./batch.ts";
import type { RowsQuery } from "./statement.ts";

/** How many rows of its ranges a page looks at, where further filters leave few of them. */
export const SCAN_LIMIT = 1_000;

const toColumnName = (key: string): string => `"${key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}"`;

/**
 * The columns of a table by their bare names, because the rows may come from a subquery. `of`: the table's name, needed when other tables are
 * joined.
 */
export const selectBareColumns = <T extends SQLiteTable>(table: T, of?: string): BareColumns<T> =>
  Object.fromEntries(
    Object.entries(getTableColumns(table)).map(([key, column]) => [
      key,
      sql.raw(of === undefined ? toColumnName(key) : `"${of}".${toColumnName(key)}`).mapWith(column),
    ]),
  ) as BareColumns<T>;
type BareColumns<T extends SQLiteTable> = { [K in keyof InferSelectModel<T>]: SQL<InferSelectModel<T>[K]> };

export type Ranges = {
  readonly columns: object;
  /** Each names its table and its conditions. */
  readonly from: readonly SQL[];
  /** Latest first, by names that are among the columns. */
  readonly order: SQL;
};

const mergeRanges = ({ columns, from, order }: Ranges, limit: SQL): SQL => {
  const names = sql.raw(Object.keys(columns).map(toColumnName).join(", "));
  const each = from.map((range) => sql`select ${names} from ${range}`);
  return sql`${sql.join(each, sql` union all `)} order by ${order} limit ${limit}`;
};

export const selectPage = (ranges: Ranges, limit: number): SQL =>
  sql`(${mergeRanges(ranges, sql`${limit + 1}`)}) listed`;

/**
 * The rows that a page with further filters looks at, then the last of them again with `beyond` 1. A page that fills up earlier never reads this
 * last row; a page that does not continues after it.
 */
export const selectScan = (ranges: Ranges): SQL =>
  sql`(select *, 0 as beyond from (${mergeRanges(ranges, sql`${SCAN_LIMIT}`)}) union all
    select *, 1 from (${mergeRanges(ranges, sql`1 offset ${SCAN_LIMIT - 1}`)})) listed`;

export const IS_SCAN_END = sql<number>`beyond`;

export const fitsOrEndsScan = (fits: SQL): SQL => sql`(beyond = 1 or ${fits})`;

export const toFoundRows = <Row extends { readonly beyond: number }>(rows: Row[]): FoundRows<Row> => ({
  rows: rows.filter(({ beyond }) => beyond === 0),
  end: rows.find(({ beyond }) => beyond === 1) ?? null,
});

/** Reads no row unless the condition holds: SQLite does not start a statement whose limit is zero. */
export const limitWhile = (condition: SQL | undefined, limit: number): number =>
  // Drizzle accepts an expression too.
  (condition === undefined ? limit : sql`case when ${condition} then ${limit} else 0 end`) as number;

/** The condition of the rows after a position, latest first; with `by`, only of rows up to that instant. */
export const isBelow = (at: SQL, id: SQL, after: Position | null, by?: number): SQL | undefined => {
  // One bound instead of two: with two, SQLite would search by one of them and compare the other row by row.
  const last = by === undefined || (after !== null && after.at <= by) ? after : { at: by + 1, id: "" };
  return last === null ? undefined : sql`(${at}, ${id}) < (${last.at}, ${last.id})`;
};

export type RangedList = {
  readonly ranges: Ranges;
  readonly shown?: object;
  /** A join to the ranges, which are named `listed`. */
  readonly joined?: SQL;
  readonly fits?: SQL | undefined;
};

export function readRanged<Row>(
  db: Database,
  { ranges, shown = ranges.columns, joined = sql``, fits }: RangedList,
  limit: number,
): Read<FoundRows<Row>> {
  const [source, beyond] = fits
    ? [selectScan(ranges), IS_SCAN_END]
    : [selectPage(ranges, limit), sql<number>`0`.as("beyond")];
  const rows = db
    .select({ ...(shown as SelectedFields), beyond })
    .from(sql`${source} ${joined}`)
    .where(fits && fitsOrEndsScan(fits))
    .limit(limit + 1);
  return read(rows as RowsQuery<Row & { readonly beyond: number }>, toFoundRows);
}

export type KeyedList<T extends SQLiteTable> = {
  readonly table: T;
  readonly shown?: object;
  readonly where?: SQL | undefined;
  /** The key: an instant, an id, or both. An index has it after the columns of `where`. */
  readonly at?: SQLiteColumn;
  readonly id?: SQLiteColumn;
};

export function readNewest<T extends SQLiteTable, Row = InferSelectModel<T>>(
  db: Database,
  { table, shown = getTableColumns(table), where, at, id }: KeyedList<T>,
  { limit, after }: AskedRows,
): Read<Row[]> {
  const older =
    at && id ? isBelow(sql`${at}`, sql`${id}`, after) : (isBelowKey(at, after?.at) ?? isBelowKey(id, after?.id));
  const rows = db
    .select(shown as SelectedFields)
    .from(table as SQLiteTable)
    .where(and(where, older))
    .orderBy(...[at, id].flatMap((column) => (column ? [desc(column)] : [])))
    .limit(limit + 1);
  return readAll(rows as RowsQuery<Row>);
}

const isBelowKey = (column: SQLiteColumn | undefined, key: number | string | undefined): SQL | undefined =>
  column && key !== undefined ? lt(column, key) : undefined;
