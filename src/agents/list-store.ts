// Store of the list of agents (AGT-11, PRN-14). A filter by status is a range of its own index, in the order in which the attestations of the
// agents' principals end: what stopped with its attestation by its date alone is the lower part of the ranges of those that run.
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Position } from "../core/page.ts";
import { type AgentStatus, type EconomicRole, isRunning, type PrincipalStatus, RUNNING } from "../core/vocabulary.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import {
  BEYOND,
  bareColumns,
  below,
  type Found,
  foundOf,
  pageOf,
  type Ranges,
  scanOf,
  whereFits,
} from "../db/pages.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import { restatements } from "../db/tables/principals.ts";
import { type Tenant, within } from "../db/tenant.ts";
import type { PrincipalStanding } from "../principals/standing.ts";

export type AgentFilter = {
  readonly principalId?: string | undefined;
  readonly status?: AgentStatus | undefined;
  readonly economicRole?: EconomicRole | undefined;
  readonly externalRef?: string | undefined;
};

// A page shows no key and no running sum: half of the columns, and most of the bytes.
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
} = bareColumns(agents, "listed");
export type ListedAgent = Pick<AgentRow, keyof typeof listed>;

/** One that is not read stops nobody. */
const standing = {
  status: sql<PrincipalStatus>`coalesce(p.status, 'ACTIVE')`.as("principal_status"),
  attestationExpiresAt: sql<number>`coalesce(p.attestation_expires_at, ${Number.MAX_SAFE_INTEGER})`.as("principal_end"),
  accountStopped: sql<PrincipalStanding["accountStopped"]>`p.account_stopped`.as("account_stopped"),
};
const shown = { agent: listed, principal: standing };
type Row = { readonly agent: ListedAgent; readonly principal: PrincipalStanding };

/** Whether a renewal has still to write agents' rows: then a list of those that run looks at one range more. */
export const findRenewing = (db: Database): Read<boolean> =>
  read(
    db
      .select({ one: sql<number>`1`.as("one") })
      .from(restatements)
      .where(sql`started_at >= 0`)
      .limit(1),
    (rows) => rows.length > 0,
  );

/** True for a list in the order of the attestations' ends: one that a range of a status gives. */
export const isByEnd = ({ principalId, status, externalRef }: AgentFilter): boolean =>
  status !== undefined && principalId === undefined && externalRef === undefined;

type AgentPage = {
  readonly limit: number;
  readonly after: Position | null;
  /** While a renewal writes agents' rows, one of them may run on behind the end that its row has. */
  readonly renewing: boolean;
};

/** Of a page by status, rows whose status at the instant is another one are left to the reader, which knows the principal's standing. */
export const listAgents = (
  db: Database,
  tenant: Tenant,
  filter: AgentFilter,
  now: number,
  page: AgentPage,
): Read<Found<Row>> => {
  const ranges = rangesOf(tenant, filter, now, page);
  const fits = fitsOf(tenant, filter, now);
  if (fits === undefined) {
    const rows = db
      .select(shown)
      .from(sql`${pageOf(ranges, page.limit)} ${ownersOf(filter, page.renewing)}`)
      .limit(page.limit + 1);
    return read(rows, (found: Row[]) => ({ rows: found, end: null }));
  }
  const rows = db
    .select({ ...shown, beyond: BEYOND })
    .from(sql`${scanOf(ranges)} ${ownersOf(filter, page.renewing)}`)
    .where(whereFits(fits))
    .limit(page.limit + 1);
  return read(rows, foundOf);
};

/**
 * The principals of the rows, one by one: joined across, so that SQLite keeps the order. On a page by status an agent's own row tells its
 * status, but while a cascade still has to write it: then, and among the rows that a renewal has not written, its principal matters.
 */
function ownersOf(filter: AgentFilter, renewing: boolean): SQL {
  const { status } = filter;
  if (!isByEnd(filter) || status === undefined || renewing || !(isRunning(status) || status === "SUSPENDED"))
    return sql`cross join principals p on p.principal_id = listed.principal_id`;
  const behind = isRunning(status)
    ? sql`exists (select 1 from cascades c where (c.started_at >= 0) = 1)`
    : sql`listed.status <> 'SUSPENDED' or exists (select 1 from cascades c where c.subject_id = listed.principal_id)`;
  return sql`left join principals p on p.principal_id = case when ${behind} then listed.principal_id end`;
}

// ---- Ranges --------------------------------------------------------------------------------------------------------------

const BY_END = sql`ends_at desc, did desc`;
const BY_AGE = sql`created_at desc, did desc`;

function rangesOf(tenant: Tenant, filter: AgentFilter, now: number, { after, renewing }: AgentPage): Ranges {
  const { principalId, status, economicRole, externalRef } = filter;
  const columns = listed;
  if (externalRef !== undefined) {
    const older = below(sql`created_at`, sql`did`, after);
    return {
      columns,
      from: [rangeOf(within(agents, tenant), sql`external_ref = ${externalRef}`, older)],
      order: BY_AGE,
    };
  }
  if (isByEnd(filter) && status !== undefined) {
    const inStatus = (of: AgentStatus, following: SQL | undefined, from?: SQL) =>
      rangeOf(within(agents, tenant), sql`status = ${of}`, following, from);
    const all = below(sql`ends_at`, sql`did`, after);
    if (!isRunning(status)) {
      const ended = below(sql`ends_at`, sql`did`, after, now);
      const stopped = status === "SUSPENDED" ? RUNNING.map((running) => inStatus(running, ended)) : [];
      return { columns, from: [inStatus(status, all), ...stopped], order: BY_END };
    }
    // The reader, which knows the principal's standing, leaves out those of this range that have ended.
    const renewed = renewing ? [inStatus(status, below(sql`ends_at`, sql`did`, after, now))] : [];
    return { columns, from: [inStatus(status, all, sql`ends_at > ${now}`), ...renewed], order: BY_END };
  }
  const older = below(sql`created_at`, sql`did`, after);
  const owned = principalId === undefined ? within(agents, tenant) : sql`principal_id = ${principalId}`;
  const role =
    principalId === undefined && economicRole !== undefined ? sql`economic_role = ${economicRole}` : undefined;
  return { columns, from: [rangeOf(owned, role, older)], order: BY_AGE };
}

const rangeOf = (...conditions: (SQL | undefined)[]): SQL => sql`agents where ${and(...conditions)}`;

// ---- Further filters -----------------------------------------------------------------------------------------------------

/** What the rows of the ranges are compared with. */
function fitsOf(tenant: Tenant, filter: AgentFilter, now: number): SQL | undefined {
  const { principalId, status, economicRole, externalRef } = filter;
  const role = economicRole === undefined ? undefined : eq(listed.economicRole, economicRole);
  const stands = status === undefined ? undefined : standsAs(status, now);
  // One agent at the most: what else is asked for is looked for in it.
  if (externalRef !== undefined) {
    return and(principalId === undefined ? undefined : eq(listed.principalId, principalId), role, stands) ?? sql`true`;
  }
  if (principalId === undefined) return status === undefined ? undefined : role;
  // The tenant principal has agents in both environments.
  const owned = and(eq(listed.platformId, tenant.platformId), eq(listed.environment, tenant.environment));
  return and(owned, role, stands);
}

/** The agents whose status is this one at an instant (AGT-19). An account that is stopped as a whole reads no list. */
function standsAs(status: AgentStatus, now: number): SQL {
  const stored = sql`listed.status = ${status}`;
  const stands = sql`(p.status = 'ACTIVE' and p.attestation_expires_at > ${now})`;
  if (isRunning(status)) return sql`(${stored} and ${stands})`;
  const stopped = sql`(listed.status in ${RUNNING} and not ${stands})`;
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
