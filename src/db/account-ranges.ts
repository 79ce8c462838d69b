// The rows of an account in a table whose rows have two sides, by ranges of its indexes (FAC-19): what the account sold to others, what it bought
// of others, and what its own agents did among themselves. A row has one place in the list of each platform, however many lists it is in.
import { and, type SQL, sql } from "drizzle-orm";
import type { Environment, Side } from "../core/vocabulary.ts";
import type { Tenant } from "./tenant.ts";

/** An agent is on one side; which one, only its row tells. */
export const SIDE_COLUMNS = {
  provider: sql`provider_did`,
  consumer: sql`consumer_did`,
} as const satisfies Record<Side, SQL>;

/** `table`: with provider and consumer, their platforms, and the environment. */
type Sided = { readonly table: SQL; readonly environment: Environment | SQL<Environment> };

/** The rows of one agent, which may be an expression. */
export const agentRanges = (
  { table, environment }: Sided,
  did: string | SQL,
  sides: readonly Side[],
  bounds: SQL | undefined,
): SQL[] =>
  sides.map(
    (side) =>
      sql`${table} where ${and(sql`${SIDE_COLUMNS[side]} = ${did}`, sql`environment = ${environment}`, bounds)}`,
  );

/** Literal text, so that SQLite uses the partial indexes. */
const AMONG = {
  sold: sql`provider_platform_id <> consumer_platform_id and provider_platform_id`,
  bought: sql`provider_platform_id <> consumer_platform_id and consumer_platform_id`,
  within: sql`provider_platform_id = consumer_platform_id and provider_platform_id`,
} as const;

export type AccountFilter = {
  /** An agent of the account; another's has no rows here. */
  readonly did?: string | undefined;
  /** The side of the account's agent. */
  readonly role?: Side | undefined;
};

/** The rows of all agents of an account, or of one of them. */
export function accountRanges(
  table: SQL,
  { platformId, environment }: Tenant,
  { did, role }: AccountFilter,
  bounds: SQL | undefined,
): SQL[] {
  const own = { table, environment };
  if (did !== undefined) {
    // In the key itself: nothing of another account's agent is looked at.
    const agent = sql`(select did from agents where did = ${did} and platform_id = ${platformId})`;
    return agentRanges(own, agent, role === undefined ? ["provider", "consumer"] : [role], bounds);
  }
  const among = [
    ...(role === "consumer" ? [] : [AMONG.sold]),
    ...(role === "provider" ? [] : [AMONG.bought]),
    AMONG.within,
  ];
  return among.map(
    (platform) =>
      sql`${table} where ${and(sql`${platform} = ${platformId}`, sql`environment = ${environment}`, bounds)}`,
  );
}
