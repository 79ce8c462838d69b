// Store of a promotion (AGT-34): the principal that an agent gets in production, its delegator, and the conditions of the commit.
import { and, eq, type SQL, sql } from "drizzle-orm";
import { isPrincipalActiveUnchanged } from "../agents/find-store.ts";
import { type Database, type Read, readOne } from "../db/batch.ts";
import type { Tenant } from "../db/statement.ts";
import { type AgentRow, agents, type MarketRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { OpenAt } from "../intents/list-store.ts";
import { findPrincipal, findPrincipalById, isPrincipalActive } from "../principals/store.ts";
import { hasNothingOpen } from "../tasks/store.ts";

/**
 * Finds the principal of the platform that an agent gets: the named one; else its delegator's; else the one in production with the reference of its
 * present principal; else the tenant principal.
 */
export const findNextPrincipal = (
  db: Database,
  { platformId }: Tenant,
  did: string,
  named: string | undefined,
): Read<PrincipalRow | null> => {
  if (named !== undefined) return findPrincipal(db, { platformId, environment: "production" }, named);
  const ofDelegator = sql`(select d.principal_id from agents d where d.did = a.delegators ->> 0 and d.environment = 'production')`;
  const ofReference = sql`(select p.principal_id from principals o
    join principals p on p.platform_id = a.platform_id and p.environment = 'production' and p.external_ref = o.external_ref
    where o.principal_id = a.principal_id and o.tenant = 0 and p.tenant = 0 and p.closed = 0)`;
  const ofTenant = sql`(select f.tenant_principal_id from platforms f where f.platform_id = a.platform_id)`;
  const found = sql`coalesce(${ofDelegator}, ${ofReference}, ${ofTenant})`;
  return findPrincipalById(db, sql`(select ${found} from agents a where a.did = ${did})`);
};

export type Delegator = Pick<AgentRow, "did" | "environment" | "principalId">;

/** Finds the nearest delegator. If it is in production, the ones above it are too. */
export const findDelegator = (db: Database, did: string): Read<Delegator | null> =>
  readOne(
    db
      .select({ did: agents.did, environment: agents.environment, principalId: agents.principalId })
      .from(agents)
      .where(sql`${agents.did} = (select a.delegators ->> 0 from agents a where a.did = ${did})`),
  );

/** The agent in production that has the reference of this agent. */
export const findHolder = (db: Database, did: string): Read<{ did: string } | null> =>
  readOne(
    db
      .select({ did: agents.did })
      .from(agents)
      .where(
        sql`(platform_id, environment, external_ref) =
          (select a.platform_id, 'production', a.external_ref from agents a where a.did = ${did} and a.environment = 'sandbox')
          and external_ref is not null`,
      ),
  );

type PromotionBasis = {
  /** The agent's open markets in production. */
  readonly markets: readonly MarketRow[];
  readonly openAt: OpenAt;
  readonly sandboxNow: number;
  readonly now: number;
};

/** The conditions of a promotion at its commit, besides those of every change of an agent. */
export const isPromotionStillAllowed = (
  { did, principalId: own, ...agent }: AgentRow,
  next: PrincipalRow,
  { markets, openAt, sandboxNow, now }: PromotionBasis,
): SQL | undefined =>
  and(
    eq(agents.environment, "sandbox"),
    eq(agents.disputesOpen, 0),
    // A promotion writes only columns that differ from what it read, so it would keep a value that the sandbox wrote meanwhile.
    eq(agents.endsAt, agent.endsAt),
    eq(agents.ratingInteractions, agent.ratingInteractions),
    eq(agents.ratingWeight, agent.ratingWeight),
    eq(agents.ratingWeighted, agent.ratingWeighted),
    // The principal that the agent leaves is ACTIVE, so that no cascade of it misses the agent.
    isPrincipalActive(sql`${own}`, sandboxNow),
    isPrincipalActiveUnchanged(next, now),
    hasNothingOpen({ did, environment: "sandbox" }, openAt),
    markets.length === 0 ? undefined : hasUnchangedMarkets(did, markets),
  );

/** The open markets in production are those with which the document was built. */
const hasUnchangedMarkets = (did: string, markets: readonly MarketRow[]): SQL => {
  const latest = Math.max(...markets.map(({ updatedAt }) => updatedAt));
  return sql`(select count(*), max(m.updated_at) from agent_markets m
    where m.did = ${did} and m.environment = 'production' and m.status = 'ACTIVE') = (${markets.length}, ${latest})`;
};
