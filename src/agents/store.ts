// Store of agents. Reads take a Tenant; writes are statements for a commit.
import { and, desc, eq, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import type { Move } from "../core/machine.ts";
import type { Position } from "../core/page.ts";
import { type AgentStatus, type EconomicRole, isRunning } from "../core/vocabulary.ts";
import { type Database, guard, mustChange, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import { type PrincipalRow, principals } from "../db/tables/principals.ts";
import { type Tenant, within } from "../db/tenant.ts";
import {
  type AgentWithPrincipal,
  findEscrows,
  findMarkets,
  findNewestVersion,
  selectAgent,
  withPrincipal,
} from "../identity/store.ts";
import type { PrincipalStanding } from "../principals/standing.ts";
import { principalStands, principalUnchanged, standsAt } from "../principals/store.ts";
import type { Bounds } from "./delegation.ts";

export const findAgent = (db: Database, tenant: Tenant, did: string): Read<AgentWithPrincipal | null> =>
  readOne(selectAgent(db, and(eq(agents.did, did), within(agents, tenant))));

/** The nearest delegator, in the agent's own statement: another one would read the agent again to find who delegates. */
const nearest = sql`${agents} as nearest`;
const ofNearest = <K extends keyof AgentRow>(key: K, column: string) =>
  sql<AgentRow[K]>`nearest.${sql.raw(column)}`.mapWith(agents[key]).as(`nearest_${column}`);
const delegated = {
  did: ofNearest("did", "did"),
  authorizedActions: ofNearest("authorizedActions", "authorized_actions"),
  capabilities: ofNearest("capabilities", "capabilities"),
  maxTransactionValue: ofNearest("maxTransactionValue", "max_transaction_value"),
  spendingLimit: ofNearest("spendingLimit", "spending_limit"),
  minimumCounterpartyCertTier: ofNearest("minimumCounterpartyCertTier", "minimum_counterparty_cert_tier"),
  minimumCounterpartyAr: ofNearest("minimumCounterpartyAr", "minimum_counterparty_ar"),
};

/** An agent and the bounds of its nearest delegator. */
export const findDelegated = (
  db: Database,
  tenant: Tenant,
  did: string,
): Read<(AgentWithPrincipal & { delegator: Bounds | null }) | null> =>
  read(
    db
      .select({ ...withPrincipal, delegator: delegated })
      .from(agents)
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .leftJoin(nearest, sql`nearest.did = json_extract(${agents.delegators}, '$[0]')`)
      .where(and(eq(agents.did, did), within(agents, tenant))),
    ([row]) => (row ? { ...row, delegator: row.delegator.did === null ? null : row.delegator } : null),
  );

/** An agent of the platform in either environment; the caller judges which keys reach it (MKT-11). */
export const findOwnAgent = (db: Database, tenant: Tenant, did: string): Read<AgentWithPrincipal | null> =>
  readOne(selectAgent(db, and(eq(agents.did, did), eq(agents.platformId, tenant.platformId))));

/** The reads that a change of an agent is decided on and that its documents are built from. */
export const sourceReads = (db: Database, tenant: Tenant, did: string) => ({
  found: findAgent(db, tenant, did),
  newest: findNewestVersion(db, did),
  markets: findMarkets(db, did, tenant.environment),
  escrows: findEscrows(db, did, tenant.environment),
});

export type AgentFilter = { principalId?: string; status?: AgentStatus; economicRole?: EconomicRole; now: number };

/** As `standsAt`: an agent whose principal is stopped is not listed as running (PRN-14). */
const countsAs = (status: AgentStatus, now: number): SQL | undefined => {
  return and(eq(agents.status, status), isRunning(status) ? standsAt("ACTIVE", now) : undefined);
};

// A page shows no key and no running sum: half of the columns, and most of the bytes.
const listed = {
  did: agents.did,
  environment: agents.environment,
  principalId: agents.principalId,
  economicRole: agents.economicRole,
  certTier: agents.certTier,
  status: agents.status,
  suspensionReason: agents.suspensionReason,
  statusNote: agents.statusNote,
  displayName: agents.displayName,
  description: agents.description,
  catalogUrl: agents.catalogUrl,
  endpointUrl: agents.endpointUrl,
  authorizedActions: agents.authorizedActions,
  capabilities: agents.capabilities,
  disputeWindowDays: agents.disputeWindowDays,
  maxTransactionValue: agents.maxTransactionValue,
  spendingLimit: agents.spendingLimit,
  minimumCounterpartyCertTier: agents.minimumCounterpartyCertTier,
  minimumCounterpartyAr: agents.minimumCounterpartyAr,
  intentsFrom: agents.intentsFrom,
  delegators: agents.delegators,
  version: agents.version,
  keyId: agents.keyId,
  certificateExpiresAt: agents.certificateExpiresAt,
  agentRating: agents.agentRating,
  createdAt: agents.createdAt,
  updatedAt: agents.updatedAt,
};
const standing = {
  status: sql<PrincipalStanding["status"]>`${principals.status}`.as("principal_status"),
  attestationExpiresAt: principals.attestationExpiresAt,
  accountStopped: principals.accountStopped,
};
export type ListedAgent = Pick<AgentRow, keyof typeof listed>;

export const listAgents = (
  db: Database,
  tenant: Tenant,
  filter: AgentFilter,
  page: { limit: number; after: Position | null },
): Read<{ agent: ListedAgent; principal: PrincipalStanding }[]> => {
  const { after } = page;
  return readAll(
    db
      .select({ agent: listed, principal: standing })
      .from(agents)
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .where(
        and(
          within(agents, tenant),
          filter.principalId === undefined ? undefined : eq(agents.principalId, filter.principalId),
          filter.status === undefined ? undefined : countsAs(filter.status, filter.now),
          filter.economicRole === undefined ? undefined : eq(agents.economicRole, filter.economicRole),
          // A keyset: newest first, and the DID breaks ties.
          after === null ? undefined : sql`(${agents.createdAt}, ${agents.did}) < (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(desc(agents.createdAt), desc(agents.did))
      .limit(page.limit + 1),
  );
};

export const insertAgent = (db: Database, row: typeof agents.$inferInsert): Statement => db.insert(agents).values(row);

/** A condition for an agent that begins to run: its principal is in good standing at the commit, so that no cascade misses it (AGT-18). */
export const whileStanding = (now: number): SQL => principalStands(sql`${agents.principalId}`, now);

/**
 * Writes only onto the version and status that the change was decided on (AGT-28). Only changed columns are written, and the revision is
 * incremented in SQL, because settlements and ratings move it (and the sums) at the same time.
 */
export const updateAgent = (
  db: Database,
  before: AgentRow,
  set: Partial<AgentRow>,
  options: { readonly documented: boolean; readonly owner: PrincipalRow; readonly also?: SQL | undefined },
): Statement[] =>
  mustChange(
    db,
    db
      .update(agents)
      .set({ ...changedColumns(before, set), ...(options.documented && { revision: sql`${agents.revision} + 1` }) })
      .where(
        and(
          eq(agents.did, before.did),
          eq(agents.status, before.status),
          eq(agents.version, before.version),
          // What is signed states the owner's name, and of a tenant principal that may change.
          options.owner.tenant ? principalUnchanged(options.owner) : undefined,
          options.also,
        ),
      ),
  );

const changedColumns = (before: AgentRow, set: Partial<AgentRow>): Partial<AgentRow> =>
  Object.fromEntries(Object.entries(set).filter(([name, value]) => value !== before[name as keyof AgentRow]));

type RatingColumns = Pick<
  AgentRow,
  "ratingWeight" | "ratingWeighted" | "ratingInteractions" | "ratingCounterparties" | "agentRating" | "settledVolume"
>;

/** Writes only onto the sums that the new ones were computed from (AGT-28). */
export const updateRating = (
  db: Database,
  before: AgentRow,
  set: RatingColumns & { readonly updatedAt?: number },
): Statement[] =>
  mustChange(
    db,
    db
      .update(agents)
      .set({ ...set, revision: sql`${agents.revision} + 1` })
      .where(
        and(
          eq(agents.did, before.did),
          eq(agents.ratingInteractions, before.ratingInteractions),
          eq(agents.ratingWeight, before.ratingWeight),
          eq(agents.ratingWeighted, before.ratingWeighted),
        ),
      ),
  );

/**
 * Marks the document of an agent stale after a change that its platform did not make (IDN-18). Refused when the platform has made another
 * version meanwhile.
 */
export const touchDocument = (
  db: Database,
  { did, version }: Pick<AgentRow, "did" | "version">,
  set: { readonly updatedAt?: number } = {},
): Statement[] =>
  mustChange(
    db,
    db
      .update(agents)
      .set({ ...set, revision: sql`${agents.revision} + 1` })
      .where(and(eq(agents.did, did), eq(agents.version, version))),
  );

// ---- Many agents at once ----------------------------------------------------------------------------------------------------

const named = (dids: readonly string[]): SQL => sql`did in (select value from json_each(${JSON.stringify(dids)}))`;
/** Refuses unless the statement before it changed so many rows. */
const allOf = (db: Database, dids: readonly string[]): Statement =>
  guard(db, sql`changes() = ${sql.raw(String(dids.length))}`);

type Moved = Pick<AgentRow, "suspensionReason" | "suspendedFrom" | "statusNote" | "updatedAt">;

/** Moves all of the agents from one status to another, or none. */
export const moveAgents = (
  db: Database,
  dids: readonly string[],
  { from, to }: Move<AgentStatus>,
  set: Moved,
  also?: SQL,
): Statement[] => [
  db
    .update(agents)
    .set({ ...set, status: to })
    .where(and(named(dids), eq(agents.status, from), also)),
  allOf(db, dids),
];

/** Refuses when a principal has another number of agents up to a position, null for all: one may have come after the reading. */
export const refuseOtherCount = (db: Database, principalId: string, upTo: Due | null, count: number): Statement => {
  const within = upTo === null ? undefined : sql`(created_at, did) <= (${upTo.at}, ${upTo.id})`;
  const where = and(sql`principal_id = ${principalId}`, within);
  return guard(db, sql`(select count(*) from agents where ${where}) = ${sql.raw(String(count))}`);
};

/** Marks the documents of agents stale, as `touchDocument`: another row that they show has changed. */
export const touchDocuments = (db: Database, dids: readonly string[]): Statement =>
  db
    .update(agents)
    .set({ revision: sql`${agents.revision} + 1` })
    .where(sql`did in (select value from json_each(${JSON.stringify(dids)}))`);

/** Gives each of the agents a new version, or none: each must be at the version that the new one was decided on. */
export const advanceVersions = (
  db: Database,
  before: readonly Pick<AgentRow, "did" | "version">[],
  now: number,
): Statement[] => {
  const known = JSON.stringify(before.map(({ did, version }) => [did, version]));
  return [
    db
      .update(agents)
      .set({
        version: sql`${agents.version} + 1`,
        revision: sql`${agents.revision} + 1`,
        updatedAt: sql`max(${agents.updatedAt}, ${now})`,
      })
      .from(sql`json_each(${known}) as known`)
      .where(sql`${agents.did} = known.value ->> 0 and ${agents.version} = known.value ->> 1`),
    guard(db, sql`changes() = ${sql.raw(String(before.length))}`),
  ];
};

/** A condition for agents that are given back: their account took them, and their principal stands at the commit (AGT-18). */
export const whileGivenBack = (now: number): SQL => sql`suspension_reason = 'operator' and ${whileStanding(now)}`;

/** Leaves agents that their account took to another reason: when it returns, something else still stops them. */
export const passOnAgents = (
  db: Database,
  dids: readonly string[],
  set: Pick<AgentRow, "suspensionReason" | "updatedAt">,
): Statement[] => [
  db
    .update(agents)
    .set(set)
    .where(and(named(dids), sql`suspension_reason = 'operator'`)),
  allOf(db, dids),
];
