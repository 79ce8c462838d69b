// Splits many rows into JSON parameters that D1 accepts: at most 2 MB each. Each becomes a source of a statement.
import { type SQL, sql } from "drizzle-orm";
import type { Statement } from "./statement.ts";

const PART_CHARS = 500_000;
/** The text of a statement names the place of each row, and has a limit too. */
const PART_ROWS = 1_000;

export type Part = {
  /** The source that an insert selects from: the rows as JSON arrays, `value`, each with its place in the part, `key`. */
  readonly rows: SQL;
  /** How many rows the parts before it have. */
  readonly before: number;
};

/** Returns no part without rows. The places are written out, because D1 counts what `json_each` yields as rows read. */
export function splitIntoParts(rows: readonly unknown[]): Part[] {
  const parts: string[][] = [];
  let size = PART_CHARS;
  for (const row of rows) {
    const text = JSON.stringify(row);
    if (size + text.length > PART_CHARS || parts.at(-1)?.length === PART_ROWS) {
      parts.push([]);
      size = 0;
    }
    parts.at(-1)?.push(text);
    size += text.length;
  }
  let before = 0;
  return parts.map((part) => {
    const places = sql.raw(part.map((_, place) => `(${place})`).join(", "));
    const source = sql`(select column1 as key, ${`[${part.join(",")}]`} -> column1 as value from (values ${places}))`;
    before += part.length;
    return { rows: source, before: before - part.length };
  });
}

/** Takes items while their statements fit into `room`, and always the first one. `rest`: whether some are left. */
export function takeFitting<T>(all: readonly T[], make: (one: T) => Statement[], room: number) {
  const [taken, statements]: [T[], Statement[]] = [[], []];
  for (const one of all) {
    const own = make(one);
    if (taken.length > 0 && statements.length + own.length > room) break;
    taken.push(one);
    statements.push(...own);
  }
  return { taken, statements, rest: taken.length < all.length };
}
