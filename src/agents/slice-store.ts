// Store of slices: many agents of a principal or an account, read for a cascade with the rows that a view of each needs (PRN-17). A slice
// begins with the agents that are still to do, and never scans those that are done.
import { and, asc, eq, getTableColumns, inArray, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type AgentStatus, ENVIRONMENTS } from "../core/vocabulary.ts";
import { aliasColumns, type Database, type Read, read, readAll, readOne } from "../db/batch.ts";
import type { Tenant } from "../db/statement.ts";
import { agents, aidVersions } from "../db/tables/agents.ts";
import { type PrincipalRow, principals } from "../db/tables/principals.ts";
import { selectOwnedRows } from "../identity/authority-store.ts";
import { withPrincipal } from "../identity/store.ts";
import { isVisiblePrincipal } from "../principals/store.ts";

const isOfPrincipal = (principalId: string | SQL, statuses: readonly AgentStatus[]): SQL | undefined =>
  and(eq(agents.principalId, principalId), inArray(agents.status, [...statuses]));

/** An id, or an expression of the same trip that finds it. */
type PlatformId = string | SQL<string>;

/** Names both environments, so that each pair of environment and status is one range of the index. */
const isOfAccount = (platformId: PlatformId, statuses: readonly AgentStatus[]): SQL | undefined =>
  and(
    eq(agents.platformId, platformId),
    inArray(agents.environment, [...ENVIRONMENTS]),
    inArray(agents.status, [...statuses]),
  );

/** The agents that were suspended with their account (ACC-26). Literal text, so that SQLite uses the partial index. */
const isSuspendedWithAccount = (platformId: PlatformId): SQL | undefined =>
  and(eq(agents.platformId, platformId), sql`suspension_reason = 'operator'`);

const BY_AGE = [agents.createdAt, agents.did];
/** The order of the index. */
const BY_STATUS = [agents.environment, agents.status, agents.endsAt, agents.did];

const orderAscending = (order: readonly SQLiteColumn[]): SQL[] => order.map((column) => asc(column));

const ownedColumns = selectOwnedRows();

/** The agents of a principal in one of the statuses, oldest first. `after`: a position, as an expression of the same trip. */
export const findAgentsIn = (
  db: Database,
  principalId: string,
  statuses: readonly AgentStatus[],
  slice: number,
  after?: SQL,
) => ({
  agents: readAll(
    db
      .select({ agent: getTableColumns(agents), ...ownedColumns })
      .from(agents)
      .where(and(isOfPrincipal(principalId, statuses), after && sql`(created_at, did) > ${after}`))
      .orderBy(...orderAscending(BY_AGE))
      .limit(slice),
  ),
});

/** The agents of several principals, one principal after the other. `principalIds`: a query of the same trip. */
export const findAgentsOf = (db: Database, principalIds: SQL, statuses: readonly AgentStatus[], slice: number) => ({
  agents: readAll(
    db
      .select({ agent: getTableColumns(agents), ...ownedColumns })
      .from(agents)
      .where(and(sql`${agents.principalId} in (${principalIds})`, inArray(agents.status, [...statuses])))
      .orderBy(...orderAscending([agents.principalId, ...BY_AGE]))
      .limit(slice),
  ),
});

const findAccountSlice = (db: Database, where: SQL | undefined, order: readonly SQLiteColumn[], slice: number) => ({
  agents: readAll(
    db
      .select({ ...withPrincipal, ...ownedColumns })
      .from(agents)
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .where(where)
      .orderBy(...orderAscending(order))
      .limit(slice),
  ),
});

export const findAccountAgentsIn = (
  db: Database,
  platformId: PlatformId,
  statuses: readonly AgentStatus[],
  slice: number,
) => findAccountSlice(db, isOfAccount(platformId, statuses), BY_STATUS, slice);

export const findAgentsSuspendedWithAccount = (db: Database, platformId: PlatformId, slice: number) =>
  findAccountSlice(db, isSuspendedWithAccount(platformId), BY_AGE, slice);

// ---- Agents in any status ------------------------------------------------------------------------------------------------

/** As hexadecimal digits, which take fewer characters in D1's answer than a blob does. */
const versionContent = sql<
  string | null
>`case typeof(${aidVersions.content}) when 'blob' then hex(${aidVersions.content})
  else ${aidVersions.content} end`
  .mapWith(aidVersions.content)
  .as("version_content");
const withVersion = { agent: getTableColumns(agents), content: versionContent };

/** Adds the fields that an agent's newest version states; null for a DRAFT. */
function parseStated<Row extends { readonly content: string | null }>({ content, ...row }: Row) {
  const identity = content === null ? null : (JSON.parse(content) as VersionContent).identity;
  const { name = null, country = null, verification } = identity?.principal ?? {};
  return {
    ...row,
    certificate: identity?.certificate ?? null,
    name,
    country,
    attestationId: verification?.attestation_id ?? null,
  };
}
type VersionContent = {
  readonly identity: {
    readonly certificate: string | null;
    readonly principal?: {
      readonly name?: string | null;
      readonly country?: string | null;
      readonly verification?: { readonly attestation_id?: string | null };
    };
  };
};

/**
 * A slice of all agents of a principal, in both environments, with the fields of their newest versions and the rows that they own. `after`: a
 * position, as an expression of the same trip.
 */
export const findStatedAgents = (db: Database, principalId: string | SQL<string>, slice: number, after?: SQL) => ({
  agents: read(
    db
      .select({ ...withVersion, ...ownedColumns })
      .from(agents)
      .leftJoin(aidVersions, and(eq(aidVersions.did, agents.did), eq(aidVersions.version, agents.version)))
      .where(and(eq(agents.principalId, principalId), after && sql`(${agents.createdAt}, ${agents.did}) > ${after}`))
      .orderBy(...orderAscending(BY_AGE))
      .limit(slice),
    (rows) => rows.map(parseStated),
  ),
});

/** The SUSPENDED agents of several principals, one principal after the other. `principalIds`: a query of the same trip. */
export const findSuspendedOf = (db: Database, principalIds: SQL, slice: number) => ({
  agents: read(
    db
      .select({ ...withVersion, ...ownedColumns })
      .from(agents)
      .leftJoin(aidVersions, and(eq(aidVersions.did, agents.did), eq(aidVersions.version, agents.version)))
      .where(and(sql`${agents.principalId} in (${principalIds})`, inArray(agents.status, ["SUSPENDED"])))
      .orderBy(...orderAscending([agents.principalId, ...BY_AGE]))
      .limit(slice),
    (rows) => rows.map(parseStated),
  ),
});

// ---- Whether any is left -------------------------------------------------------------------------------------------------

const hasAgentWhere = (where: SQL | undefined): SQL => sql`exists (select 1 from agents where ${where})`;

export const hasAgentIn = (principalId: string | SQL, statuses: readonly AgentStatus[]): SQL =>
  hasAgentWhere(isOfPrincipal(principalId, statuses));

export const findAgentIn = (
  db: Database,
  principalId: string,
  statuses: readonly AgentStatus[],
): Read<{ did: string } | null> =>
  readOne(db.select({ did: agents.did }).from(agents).where(isOfPrincipal(principalId, statuses)).limit(1));

export const hasAccountAgentIn = (platformId: PlatformId, statuses: readonly AgentStatus[]): SQL =>
  hasAgentWhere(isOfAccount(platformId, statuses));

export const hasAgentSuspendedWithAccount = (platformId: PlatformId): SQL =>
  hasAgentWhere(isSuspendedWithAccount(platformId));

// ---- Open disputes -------------------------------------------------------------------------------------------------------

/** Literal text, so that SQLite uses the partial index. */
const isDisputed = (of: SQL): SQL => sql`${of} and disputes_open > 0`;
const isDisputedOfPrincipal = ({ platformId, environment, principalId }: PrincipalRow): SQL =>
  isDisputed(sql`platform_id = ${platformId} and environment = ${environment} and principal_id = ${principalId}`);
const isDisputedOfAccount = (platformId: PlatformId): SQL => isDisputed(sql`platform_id = ${platformId}`);

/** `disputed`: one of its agents that has an open dispute. */
export type ClosingPrincipal = { readonly principal: PrincipalRow; readonly disputed: string | null };

/** Finds a principal, and one of its agents with an open dispute if there is one: then the principal cannot be closed. */
export const findClosingPrincipal = (
  db: Database,
  tenant: Tenant,
  principalId: string,
): Read<ClosingPrincipal | null> => {
  // Literal text: SQLite uses the partial index, and Drizzle would leave out the table's name in the columns of a single table.
  const disputed = sql<string | null>`(select a.did from agents a where a.platform_id = principals.platform_id
    and a.environment = principals.environment and a.principal_id = principals.principal_id and a.disputes_open > 0 limit 1)`;
  return readOne(
    db
      .select({ principal: aliasColumns(principals, "p"), disputed: disputed.as("disputed") })
      .from(principals)
      .where(isVisiblePrincipal(tenant, principalId)),
  );
};

/** Whether any agent of the principal, or of the account in either environment, has an open dispute. */
export const hasPrincipalDispute = (principal: PrincipalRow): SQL => hasAgentWhere(isDisputedOfPrincipal(principal));
export const hasAccountDispute = (platformId: PlatformId): SQL => hasAgentWhere(isDisputedOfAccount(platformId));
