// Lists in statements. A list is one JSON parameter, so that the text of a statement does not depend on its length.
import { type AnyColumn, type SQL, sql } from "drizzle-orm";

type List = readonly unknown[] | SQL | AnyColumn;

/** A source of one row for each value: the `value`, and its place in the list, `key`. D1 counts these rows as read. */
export const eachOf = (list: List): SQL => sql`json_each(${Array.isArray(list) ? JSON.stringify(list) : list})`;

/** Compares with a single value directly, which reads no row of a list. */
export const isOneOf = (column: SQL | AnyColumn, list: List): SQL =>
  Array.isArray(list) && list.length === 1
    ? sql`${column} = ${list[0]}`
    : sql`${column} in (select value from ${eachOf(list)})`;

/** Selects `count` columns of a row that is an array, from the place `first` on. */
export const selectFields = (count: number, first = 0): SQL =>
  sql.raw(Array.from({ length: count }, (_one, at) => `value ->> ${first + at}`).join(", "));
