// Pages of lists that merge several ranges of an index, or that compare what no index finds (HTTP-27, PRN-14). SQLite hands over the rows of a
// range, and of several merged ones, one by one in the order of their index: reading ends with the page.
import { getTableColumns, type InferSelectModel, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Position } from "../core/page.ts";

/** How many rows of its ranges a page looks at, where further filters leave few of them. */
export const SCANNED = 1_000;

/** The name of a column, as its table has it. */
const nameOf = (key: string): string => `"${key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}"`;

/** The columns of a table by their names alone, because the rows may come from a subquery; `of` is its name, where others stand beside it. */
export const bareColumns = <T extends SQLiteTable>(table: T, of?: string): BareColumns<T> =>
  Object.fromEntries(
    Object.entries(getTableColumns(table)).map(([key, column]) => [
      key,
      sql.raw(of === undefined ? nameOf(key) : `"${of}".${nameOf(key)}`).mapWith(column),
    ]),
  ) as BareColumns<T>;
type BareColumns<T extends SQLiteTable> = { [K in keyof InferSelectModel<T>]: SQL<InferSelectModel<T>[K]> };

/** Ranges that share their columns and their order. */
export type Ranges = {
  /** The columns, by their keys in the table's definition. */
  readonly columns: object;
  /** Each names its table and its conditions. */
  readonly from: readonly SQL[];
  /** The latest first; by names that are among the columns. */
  readonly order: SQL;
};

const merged = ({ columns, from, order }: Ranges, limit: SQL): SQL => {
  const names = sql.raw(Object.keys(columns).map(nameOf).join(", "));
  const each = from.map((range) => sql`select ${names} from ${range}`);
  return sql`${sql.join(each, sql` union all `)} order by ${order} limit ${limit}`;
};

/** The rows of a page that only ranges decide, up to one row more than the page has. */
export const pageOf = (ranges: Ranges, limit: number): SQL => sql`(${merged(ranges, sql`${limit + 1}`)}) listed`;

/**
 * The rows that a page with further filters looks at, and the last of them once more with `beyond` 1: a page that is full before never reads
 * it, and one that is not continues behind it.
 */
export const scanOf = (ranges: Ranges): SQL =>
  sql`(select *, 0 as beyond from (${merged(ranges, sql`${SCANNED}`)}) union all
    select *, 1 from (${merged(ranges, sql`1 offset ${SCANNED - 1}`)})) listed`;

export const BEYOND = sql<number>`beyond`;

/** The condition of a page over a scan. */
export const whereFits = (fits: SQL): SQL => sql`(beyond = 1 or ${fits})`;

/** `end`: the row that a scan ended with before the page was full; null where nothing is left, or the page is full. */
export type Found<Row> = { readonly rows: Row[]; readonly end: Row | null };

export const foundOf = <Row extends { readonly beyond: number }>(rows: Row[]): Found<Row> => ({
  rows: rows.filter(({ beyond }) => beyond === 0),
  end: rows.find(({ beyond }) => beyond === 1) ?? null,
});

/** Reads nothing at all unless a condition holds: SQLite does not begin with a statement whose limit is zero. */
export const limitWhile = (condition: SQL | undefined, limit: number): number =>
  // Drizzle takes an expression too.
  (condition === undefined ? limit : sql`case when ${condition} then ${limit} else 0 end`) as number;

/** The condition of the rows that follow on a position, the latest first; with `by`, of those up to that instant alone. */
export const below = (at: SQL, id: SQL, after: Position | null, by?: number): SQL | undefined => {
  // One bound and not two: SQLite would begin with one of them, and compare the other row by row.
  const last = by === undefined || (after !== null && after.at <= by) ? after : { at: by + 1, id: "" };
  return last === null ? undefined : sql`(${at}, ${id}) < (${last.at}, ${last.id})`;
};
