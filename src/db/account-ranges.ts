// Finds the rows of an account in a table whose rows have two sides, by ranges of its indexes (FAC-19): what the account sold to others, what it
// bought from others, and what its own agents traded among themselves. A row has one place in the list of each platform, however many ranges match
// it.
import { and, type SQL, sql } from "drizzle-orm";
import type { Environment, Side } from "../core/vocabulary.ts";
import type { Tenant } from "./tenant.ts";

/** An agent is on one side; only its row says on which. */
export const SIDE_COLUMNS = {
  provider: sql`provider_did`,
  consumer: sql`consumer_did`,
} as const satisfies Record<Side, SQL>;

/** `table`: a table with the columns provider, consumer, their platforms, and the environment. */
type SidedTable = { readonly table: SQL; readonly environment: Environment | SQL<Environment> };

/** The rows of one agent. `did` may be an expression. */
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

/** Literal text, so that SQLite uses the partial indexes. */
const ACCOUNT_SIDES = {
  sold: sql`provider_platform_id <> consumer_platform_id and provider_platform_id`,
  bought: sql`provider_platform_id <> consumer_platform_id and consumer_platform_id`,
  within: sql`provider_platform_id = consumer_platform_id and provider_platform_id`,
} as const;

export type AccountFilter = {
  /** An agent of the account; another account's agent matches no rows. */
  readonly did?: string | undefined;
  /** The side that the account's agent is on. */
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
