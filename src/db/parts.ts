// Splits many rows into JSON parameters that D1 accepts, at most 2 MB each, and splits the rows of an account into ranges of its indexes (FAC-19).
import { and, type SQL, sql } from "drizzle-orm";
import type { Environment, Side } from "../core/vocabulary.ts";
import type { Statement, Tenant } from "./statement.ts";

const PART_CHARS = 500_000;
/** The text of a statement names the place of each row, and has a limit too. */
const PART_ROWS = 1_000;

export type Part = {
  /** The source that an insert selects from: the rows as JSON arrays, `value`, each with its place in the part, `key`. */
  readonly rows: SQL;
  readonly before: number;
};

/**
 * Each part becomes a source of a statement; without rows there is none. The places are written out, because D1 counts what `json_each` yields as
 * rows read.
 */
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

// ---- Ranges of a table whose rows have two sides ------------------------------------------------------------------------

/** An agent is on one side; only its row says on which. */
export const SIDE_COLUMNS = {
  provider: sql`provider_did`,
  consumer: sql`consumer_did`,
} as const satisfies Record<Side, SQL>;

/** `table`: a table with the columns provider, consumer, their platforms, and the environment. */
type SidedTable = { readonly table: SQL; readonly environment: Environment | SQL<Environment> };

export const buildAgentRanges = (
  { table, environment }: SidedTable,
  did: string | SQL,
  sides: readonly Side[],
  bounds: SQL | undefined,
): SQL[] =>
  sides.map(
    (side) =>
      sql`${table} where ${and(sql`${SIDE_COLUMNS[side]} = ${did}`, sql`environment = ${environment}`, bounds)}`,
  );

/**
 * These are what the account sold to others, what it bought from others, and what its own agents traded among themselves. A row has one place in the
 * list of each platform, however many ranges match it. Literal text, so that SQLite uses the partial indexes.
 */
const ACCOUNT_SIDES = {
  sold: sql`provider_platform_id <> consumer_platform_id and provider_platform_id`,
  bought: sql`provider_platform_id <> consumer_platform_id and consumer_platform_id`,
  within: sql`provider_platform_id = consumer_platform_id and provider_platform_id`,
} as const;

export type AccountFilter = {
  /** An agent of the account; another account's agent matches no rows. */
  readonly did?: string | undefined;
  readonly role?: Side | undefined;
};

export function buildAccountRanges(
  table: SQL,
  { platformId, environment }: Tenant,
  { did, role }: AccountFilter,
  bounds: SQL | undefined,
): SQL[] {
  const own = { table, environment };
  if (did !== undefined) {
    // Looked up inside the key, so that no row of another account's agent is read.
    const agent = sql`(select did from agents where did = ${did} and platform_id = ${platformId})`;
    return buildAgentRanges(own, agent, role === undefined ? ["provider", "consumer"] : [role], bounds);
  }
  const among = [
    ...(role === "consumer" ? [] : [ACCOUNT_SIDES.sold]),
    ...(role === "provider" ? [] : [ACCOUNT_SIDES.bought]),
    ACCOUNT_SIDES.within,
  ];
  return among.map(
    (platform) =>
      sql`${table} where ${and(sql`${platform} = ${platformId}`, sql`environment = ${environment}`, bounds)}`,
  );
}
