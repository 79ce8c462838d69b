// Pages of lists that merge several ranges of an index, or that filter by what no index finds (HTTP-27, PRN-14). SQLite yields the rows of one or
// several merged ranges one by one in the order of their index, so reading ends with the page.
import { getTableColumns, type InferSelectModel, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Position } from "../core/page.ts";

/** How many rows of its ranges a page looks at, where further filters leave few of them. */
export const SCAN_LIMIT = 1_000;

/** The column's name in the table. */
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

/** Ranges that share their columns and their order. */
export type Ranges = {
  /** The columns, by their keys in the table's definition. */
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

/** The rows of a page without further filters, plus one extra row. */
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

/** The condition of a page over a scan. */
export const fitsOrEndsScan = (fits: SQL): SQL => sql`(beyond = 1 or ${fits})`;

/** `end`: the row at which a scan ended before the page was full; null if no rows are left, or the page is full. */
export type FoundRows<Row> = { readonly rows: Row[]; readonly end: Row | null };

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
