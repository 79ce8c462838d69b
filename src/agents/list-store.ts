// Store of the list of agents (AGT-11, PRN-14). A filter by status reads ranges of an index that is ordered by the end of the principals'
// attestations: agents that count as SUSPENDED only because their attestation has expired are the lower part of the ACTIVE and FUNDING ranges.
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { AskedRows, FoundRows } from "../core/page.ts";
import {
  ACTIVE_OR_FUNDING,
  type AgentStatus,
  type EconomicRole,
  isActiveOrFunding,
  type PrincipalStatus,
} from "../core/vocabulary.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import { isBelow, type Ranges, readRanged, selectBareColumns } from "../db/pages.ts";
import { isOfTenant, type Tenant } from "../db/statement.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import { walks } from "../db/tables/walks.ts";
import type { StoredStatus } from "../principals/effective-status.ts";

export type AgentFilter = {
  readonly principalId?: string | undefined;
  readonly status?: AgentStatus | undefined;
  readonly economicRole?: EconomicRole | undefined;
  readonly externalRef?: string | undefined;
};

// A list shows no keys and no running sums: they are half of the columns and most of the bytes.
const {
  suspendedFrom: _from,
  revision: _revision,
  certificateJti: _jti,
  publicJwk: _key,
  ratingWeight: _weight,
  ratingWeighted: _weighted,
  ratingInteractions: _interactions,
  ratingCounterparties: _counterparties,
  ratingHeaviest: _heaviest,
  settledVolumes: _volumes,
  escrowStates: _escrows,
  disputesOpen: _open,
  walletAsks: _asks,
  wallets: _wallets,
  disputesResolvedFor: _for,
  disputesResolvedAgainst: _against,
  ...listed
} = selectBareColumns(agents, "listed");
export type ListedAgent = Pick<AgentRow, keyof typeof listed>;

/** A principal that was not joined counts as ACTIVE, without an end. */
const principalColumns = {
  status: sql<PrincipalStatus>`coalesce(p.status, 'ACTIVE')`.as("principal_status"),
  attestationExpiresAt: sql<number>`coalesce(p.attestation_expires_at, ${Number.MAX_SAFE_INTEGER})`.as("principal_end"),
  accountStopped: sql<StoredStatus["accountStopped"]>`p.account_stopped`.as("account_stopped"),
};
const listedColumns = { agent: listed, principal: principalColumns };
type Row = { readonly agent: ListedAgent; readonly principal: StoredStatus };

/** Whether a renewed attestation has still to be copied to agents' rows: then lists of running agents read one range more. */
export const hasRenewalToWrite = (db: Database): Read<boolean> =>
  read(
    db
      .select({ one: sql<number>`1`.as("one") })
      .from(walks)
      .where(eq(walks.kind, "restatement"))
      .limit(1),
    (rows) => rows.length > 0,
  );

/** True if the list comes from ranges of one status, and so in the order in which the attestations end. */
export const isAgentListByEnd = ({ principalId, status, externalRef }: AgentFilter): boolean =>
  status !== undefined && principalId === undefined && externalRef === undefined;

type AgentPage = AskedRows & {
  /** While a renewal is written to agents' rows, an agent may run past the end that its row has. */
  readonly renewing: boolean;
};

/** A page by status may contain rows whose effective status differs; the caller, which knows the principal's status, drops them. */
export const listAgents = (
  db: Database,
  tenant: Tenant,
  filter: AgentFilter,
  now: number,
  page: AgentPage,
): Read<FoundRows<Row>> => {
  const ranges = buildRanges(tenant, filter, now, page);
  const joined = joinPrincipals(filter, page.renewing);
  return readRanged(db, { ranges, shown: listedColumns, joined, fits: buildFilter(tenant, filter, now) }, page.limit);
};

/**
 * Joins the principal of each row; `cross join` makes SQLite keep the order. On a page by status an agent's own row decides, unless a cascade
 * or a renewal has still to write it: only then the principal is read.
 */
function joinPrincipals(filter: AgentFilter, renewing: boolean): SQL {
  const { status } = filter;
  if (
    !isAgentListByEnd(filter) ||
    status === undefined ||
    renewing ||
    !(isActiveOrFunding(status) || status === "SUSPENDED")
  )
    return sql`cross join principals p on p.principal_id = listed.principal_id`;
  const behind = isActiveOrFunding(status)
    ? sql`exists (select 1 from walks c where c.kind = 'cascade')`
    : sql`listed.status <> 'SUSPENDED' or exists (select 1 from walks c where c.kind = 'cascade' and c.subject = listed.principal_id)`;
  return sql`left join principals p on p.principal_id = case when ${behind} then listed.principal_id end`;
}

// ---- Ranges --------------------------------------------------------------------------------------------------------------

const BY_END = sql`ends_at desc, did desc`;
const BY_AGE = sql`created_at desc, did desc`;

function buildRanges(tenant: Tenant, filter: AgentFilter, now: number, { after, renewing }: AgentPage): Ranges {
  const { principalId, status, economicRole, externalRef } = filter;
  const columns = listed;
  if (externalRef !== undefined) {
    const older = isBelow(sql`created_at`, sql`did`, after);
    return {
      columns,
      from: [buildRange(isOfTenant(agents, tenant), sql`external_ref = ${externalRef}`, older)],
      order: BY_AGE,
    };
  }
  if (isAgentListByEnd(filter) && status !== undefined) {
    const inStatus = (of: AgentStatus, following: SQL | undefined, from?: SQL) =>
      buildRange(isOfTenant(agents, tenant), sql`status = ${of}`, following, from);
    const all = isBelow(sql`ends_at`, sql`did`, after);
    if (!isActiveOrFunding(status)) {
      const ended = isBelow(sql`ends_at`, sql`did`, after, now);
      const stopped = status === "SUSPENDED" ? ACTIVE_OR_FUNDING.map((running) => inStatus(running, ended)) : [];
      return { columns, from: [inStatus(status, all), ...stopped], order: BY_END };
    }
    // The caller drops the agents of this range whose attestation was not renewed.
    const renewed = renewing ? [inStatus(status, isBelow(sql`ends_at`, sql`did`, after, now))] : [];
    return { columns, from: [inStatus(status, all, sql`ends_at > ${now}`), ...renewed], order: BY_END };
  }
  const older = isBelow(sql`created_at`, sql`did`, after);
  const owned = principalId === undefined ? isOfTenant(agents, tenant) : sql`principal_id = ${principalId}`;
  const role =
    principalId === undefined && economicRole !== undefined ? sql`economic_role = ${economicRole}` : undefined;
  return { columns, from: [buildRange(owned, role, older)], order: BY_AGE };
}

const buildRange = (...conditions: (SQL | undefined)[]): SQL => sql`agents where ${and(...conditions)}`;

// ---- Further filters -----------------------------------------------------------------------------------------------------

/** The conditions that rows of the ranges have to meet; undefined if the ranges decide alone. */
function buildFilter(tenant: Tenant, filter: AgentFilter, now: number): SQL | undefined {
  const { principalId, status, economicRole, externalRef } = filter;
  const role = economicRole === undefined ? undefined : eq(listed.economicRole, economicRole);
  const stands = status === undefined ? undefined : hasEffectiveStatus(status, now);
  // At most one agent has the reference, so all other filters are applied to it.
  if (externalRef !== undefined) {
    return and(principalId === undefined ? undefined : eq(listed.principalId, principalId), role, stands) ?? sql`true`;
  }
  if (principalId === undefined) return status === undefined ? undefined : role;
  // The tenant principal has agents in both environments.
  const owned = and(eq(listed.platformId, tenant.platformId), eq(listed.environment, tenant.environment));
  return and(owned, role, stands);
}

/** Selects agents by effective status (AGT-19). The suspension of an account is not considered, because a suspended account reads no list. */
function hasEffectiveStatus(status: AgentStatus, now: number): SQL {
  const stored = sql`listed.status = ${status}`;
  const stands = sql`(p.status = 'ACTIVE' and p.attestation_expires_at > ${now})`;
  if (isActiveOrFunding(status)) return sql`(${stored} and ${stands})`;
  const stopped = sql`(listed.status in ${ACTIVE_OR_FUNDING} and not ${stands})`;
  switch (status) {
    case "SUSPENDED":
      return sql`(p.status <> 'CLOSED' and (${stored} or ${stopped}))`;
    case "REVOKED":
      return sql`(${stored} or (p.status = 'CLOSED' and listed.status <> 'TERMINATED'))`;
    case "DRAFT":
      return sql`(${stored} and p.status <> 'CLOSED')`;
    default:
      return stored;
  }
}
