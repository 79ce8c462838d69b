// Store of delegations: an agent's nearest delegator and its delegates (AGT-24 to AGT-26).
import { and, eq, type SQL, sql } from "drizzle-orm";
import { type Database, guard, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import { principals } from "../db/tables/principals.ts";
import { isOfTenant, type Tenant } from "../db/tenant.ts";
import { type AgentWithPrincipal, withPrincipal } from "../identity/store.ts";
import type { Bounds } from "./delegation.ts";

/** Joined into the agent's own statement: a second one would have to read the agent again to find its delegator. */
const nearestDelegator = sql`${agents} as nearest`;
const selectNearestColumn = <K extends keyof AgentRow>(key: K, column: string) =>
  sql<AgentRow[K]>`nearest.${sql.raw(column)}`.mapWith(agents[key]).as(`nearest_${column}`);
const nearestScopeColumns = {
  did: selectNearestColumn("did", "did"),
  authorizedActions: selectNearestColumn("authorizedActions", "authorized_actions"),
  capabilities: selectNearestColumn("capabilities", "capabilities"),
  maxTransactionValue: selectNearestColumn("maxTransactionValue", "max_transaction_value"),
  spendingLimit: selectNearestColumn("spendingLimit", "spending_limit"),
  minimumCounterpartyCertTier: selectNearestColumn("minimumCounterpartyCertTier", "minimum_counterparty_cert_tier"),
  minimumCounterpartyAr: selectNearestColumn("minimumCounterpartyAr", "minimum_counterparty_ar"),
};

/** An agent, with the scope of its nearest delegator. */
export type AgentWithDelegator = AgentWithPrincipal & { readonly delegator: Bounds | null };

export const findAgentWithDelegator = (db: Database, tenant: Tenant, did: string): Read<AgentWithDelegator | null> =>
  read(
    db
      .select({ ...withPrincipal, delegator: nearestScopeColumns })
      .from(agents)
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .leftJoin(nearestDelegator, sql`nearest.did = json_extract(${agents.delegators}, '$[0]')`)
      .where(and(eq(agents.did, did), isOfTenant(agents, tenant))),
    ([row]) => (row ? { ...row, delegator: row.delegator.did === null ? null : row.delegator } : null),
  );

/** Selects the direct delegates of an agent that have not ended. Literal text, so that SQLite uses the partial index. */
export const isDelegateOf = (did: string): SQL =>
  sql`delegators ->> 0 = ${did} and delegators <> '[]' and status not in ('REVOKED', 'TERMINATED')`;

export const findDelegates = (db: Database, did: string, limit: number): Read<{ did: string }[]> =>
  readAll(db.select({ did: agents.did }).from(agents).where(isDelegateOf(did)).limit(limit));

/** Refuses unless the delegator is ACTIVE at the version that was read. A transfer to another principal also changes the version. */
export const refuseChangedDelegator = (db: Database, { did, version }: Pick<AgentRow, "did" | "version">): Statement =>
  guard(db, sql`exists (select 1 from agents where did = ${did} and version = ${version} and status = 'ACTIVE')`);
