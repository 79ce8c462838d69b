// Store of the reads of agents, of the conditions of their writes on facts outside their rows, and of delegations. Reads for a caller take its Tenant.
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import { WALLETS_KEPT } from "../core/limits.ts";
import { isActiveOrFunding, type SuspensionReason } from "../core/vocabulary.ts";
import { type Database, guard, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { eachOf } from "../db/lists.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { type AgentRow, agents, type WalletSince } from "../db/tables/agents.ts";
import { type PrincipalRow, principals } from "../db/tables/principals.ts";
import {
  type AgentWithPrincipal,
  findEscrows,
  findMarkets,
  findNewestVersion,
  selectAgent,
  withPrincipal,
} from "../identity/store.ts";
import { isPrincipalActive, isPrincipalOpen } from "../principals/store.ts";
import type { Bounds } from "./delegation.ts";

export const findAgent = (db: Database, tenant: Tenant, did: string): Read<AgentWithPrincipal | null> =>
  readOne(selectAgent(db, and(eq(agents.did, did), isOfTenant(agents, tenant))));

export const findAgentByReference = (db: Database, tenant: Tenant, externalRef: string): Read<{ did: string } | null> =>
  readOne(
    db
      .select({ did: agents.did })
      .from(agents)
      .where(and(isOfTenant(agents, tenant), eq(agents.externalRef, externalRef))),
  );

/** Like `findAgent`, but a live key also reaches the platform's sandbox agents (MKT-11). */
export const findOwnAgent = (db: Database, tenant: Tenant, did: string): Read<AgentWithPrincipal | null> =>
  tenant.environment === "sandbox"
    ? findAgent(db, tenant, did)
    : readOne(selectAgent(db, and(eq(agents.did, did), eq(agents.platformId, tenant.platformId))));

/** The reads of a change of an agent, in addition to the agent: its documents are built from them. */
export const buildSourceReads = (db: Database, { environment }: Tenant, did: string) => ({
  newest: findNewestVersion(db, did),
  markets: findMarkets(db, did, environment),
  escrows: findEscrows(db, did, environment),
});

/** Agents whose published rating may have decayed by now, longest due first. `clock`: empty for real time, otherwise the platform's id. */
export const findDecayedAgents = (db: Database, clock: string, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: sql<number>`republish_at`.as("at"), id: agents.did })
      .from(agents)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`republish_at is not null`,
          eq(agents.republishBy, clock),
          sql`republish_at <= ${now}`,
          sql`(republish_at, did) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(sql`republish_at`, agents.did)
      .limit(limit),
  );

// ---- Conditions that must hold at the commit ----------------------------------------------------------------------------

/** For an agent that begins to run: its principal is in good standing at the commit, so that no cascade misses it (AGT-18). */
export const hasActivePrincipal = (now: number): SQL => isPrincipalActive(sql`${agents.principalId}`, now);

/** Like `hasActivePrincipal`, and the attestation still ends when the agent's row is to say so (PRN-14). */
export const hasAttestationUntil = (now: number, endsAt: number): SQL =>
  isPrincipalActive(sql`${agents.principalId}`, now, sql`and p.attestation_expires_at = ${endsAt}`);

/** For a suspended agent: it is still suspended for the reason that was read. */
export const isSuspendedFor = (reason: SuspensionReason | null): SQL => sql`suspension_reason is ${reason}`;

/** For agents that were suspended with their account: that reason still holds, and their principal is in good standing at the commit (AGT-18). */
export const mayReactivateWithAccount = (now: number): SQL =>
  sql`suspension_reason = 'operator' and ${hasActivePrincipal(now)}`;

/** For agents that were suspended with their principal: that reason still holds, and it is in good standing at the commit. */
export const mayReactivateWithPrincipal = (now: number): SQL =>
  sql`suspension_reason in ('principal', 'attestation') and ${hasActivePrincipal(now)}`;

// ---- Transfer -----------------------------------------------------------------------------------------------------------

/** Holds if the principal is in good standing and as it was read: the agent's document and row state its attestation. */
export const isPrincipalActiveUnchanged = ({ principalId, updatedAt }: PrincipalRow, now: number): SQL =>
  isPrincipalActive(sql`${principalId}`, now, sql`and p.updated_at = ${updatedAt}`);

/**
 * Holds if an agent may be transferred: the new principal is in good standing and as it was read, and the agent has no delegates. If the agent
 * runs, its present principal is in good standing too. Otherwise that one is neither closed nor has it a revoked attestation, so that no cascade
 * misses the agent, and a suspended agent still has the reason that was read.
 */
export const mayTransferAgent = (
  { did, status, suspensionReason, endsAt }: AgentRow,
  next: PrincipalRow,
  now: number,
): SQL | undefined =>
  and(
    isPrincipalActiveUnchanged(next, now),
    // `updateAgent` leaves out columns that did not change, so the stored end must still be the one that was read.
    eq(agents.endsAt, endsAt),
    sql`not exists (select 1 from agents where ${isDelegateOf(did)})`,
    isActiveOrFunding(status)
      ? hasActivePrincipal(now)
      : sql`${isSuspendedFor(suspensionReason)} and ${isPrincipalOpen(sql`${agents.principalId}`)}`,
  );

// ---- Wallets (FAC-22) ---------------------------------------------------------------------------------------------------

/** `all`: the agent's list, followed by the new wallets (lower case). `isAny`: whether any wallet is new. */
export function addWallets(wallets: readonly WalletSince[]): { readonly all: SQL; readonly isAny: SQL } {
  const first = new Map(wallets.toReversed());
  const added = [...first].toReversed();
  const isNew = sql`not exists (select 1 from ${eachOf(agents.wallets)} k where k.value ->> 0 = n.value ->> 0)`;
  return {
    all: sql`(select json_group_array(json(value)) from (
      select value from ${eachOf(agents.wallets)} where key >= json_array_length(${agents.wallets}) - ${WALLETS_KEPT}
      union all select value from ${eachOf(added)} n where ${isNew}))`,
    isAny: sql`exists (select 1 from ${eachOf(added)} n where ${isNew})`,
  };
}

// ---- Delegations (AGT-24 to AGT-26) -------------------------------------------------------------------------------------

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
