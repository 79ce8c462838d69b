// Agents as stored: the row, its certificates, its documents. Reads take a Scope; writes are statements for a commit.
import { and, asc, desc, eq, getTableColumns, gt, isNull, lt, or, type SQL, sql } from "drizzle-orm";
import type { Position } from "../core/page.ts";
import {
  columnsOf,
  compileOnce,
  type Database,
  guard,
  mustChange,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { type Scope, within } from "../db/scope.ts";
import { agentMarkets, agents, aids, aidVersions, certificates, escrows, principals } from "../db/tables.ts";
import type { PrincipalStanding } from "../principals/states.ts";
import { principalStands, standsAt } from "../principals/store.ts";

export type AgentRow = typeof agents.$inferSelect;
export type PrincipalRow = typeof principals.$inferSelect;
export type MarketRow = typeof agentMarkets.$inferSelect;
export type EscrowRow = typeof escrows.$inferSelect;
export type AidRow = typeof aids.$inferSelect;
export type CertificateRow = typeof certificates.$inferSelect;
export type AgentWithPrincipal = { agent: AgentRow; principal: PrincipalRow };

// Drizzle reads a column of its own three times as fast as one under another name: only the principal's are renamed.
const withPrincipal = { agent: getTableColumns(agents), principal: columnsOf(principals, "p") };

const selectAgent = (db: Database, where: SQL | undefined) =>
  db
    .select(withPrincipal)
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(where);

export const findAgent = (db: Database, scope: Scope, did: string): Read<AgentWithPrincipal | null> =>
  readOne(selectAgent(db, and(eq(agents.did, did), within(agents, scope))));

/** An agent of the platform in whichever environment it is; the caller judges which keys reach it. */
export const findOwnAgent = (db: Database, scope: Scope, did: string): Read<AgentWithPrincipal | null> =>
  readOne(selectAgent(db, and(eq(agents.did, did), eq(agents.platformId, scope.platformId))));

const publicAgentByDid = compileOnce((db) => selectAgent(db, eq(agents.did, sql`${sql.placeholder("did")}`)));

/** For the public and for counterparties: no tenancy, because the registry itself is public. */
export const findPublicAgent = (db: Database, did: string | SQL<string>): Read<AgentWithPrincipal | null> =>
  readOne(typeof did === "string" ? publicAgentByDid(db, { did }) : selectAgent(db, eq(agents.did, did)));

/** The platform of an agent as an expression, for reads in the trip that finds the agent. */
export const platformOf = (did: string): SQL<string> =>
  sql<string>`(select platform_id from agents where did = ${did})`;

export const environmentOf = (did: string | SQL<string>): SQL<string> =>
  sql<string>`(select environment from agents where did = ${did})`;

export type AgentFilter = { principalId?: string; status?: string; economicRole?: string; now: number };

/** As `standsAt`: an agent that its principal has stopped is not listed as one that runs. */
const countsAs = (status: string, now: number): SQL | undefined => {
  const runs = status === "ACTIVE" || status === "FUNDING";
  return and(eq(agents.status, status), runs ? standsAt("ACTIVE", now) : undefined);
};

// A page shows no certificate, no key and no running sum: half of the columns, and most of the bytes.
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
  delegatedBy: agents.delegatedBy,
  version: agents.version,
  keyId: agents.keyId,
  certificateExpiresAt: agents.certificateExpiresAt,
  agentRating: agents.agentRating,
  createdAt: agents.createdAt,
  updatedAt: agents.updatedAt,
};
const standing = {
  status: withPrincipal.principal.status,
  attestationExpiresAt: withPrincipal.principal.attestationExpiresAt,
};
export type ListedAgent = Pick<AgentRow, keyof typeof listed>;

export const listAgents = (
  db: Database,
  scope: Scope,
  filter: AgentFilter,
  page: { limit: number; after: Position | null },
): Read<{ agent: ListedAgent; principal: PrincipalStanding }[]> => {
  const { after } = page;
  // A keyset: newest first, and the DID breaks ties.
  const before = after && sql`(${agents.createdAt}, ${agents.did}) < (${after.at}, ${after.id})`;
  const conditions: (SQL | undefined | null)[] = [
    within(agents, scope),
    filter.principalId === undefined ? undefined : eq(agents.principalId, filter.principalId),
    filter.status === undefined ? undefined : countsAs(filter.status, filter.now),
    filter.economicRole === undefined ? undefined : eq(agents.economicRole, filter.economicRole),
    before,
  ];
  return readAll(
    db
      .select({ agent: listed, principal: standing })
      .from(agents)
      .innerJoin(principals, eq(principals.principalId, agents.principalId))
      .where(and(...conditions.map((condition) => condition ?? undefined)))
      .orderBy(desc(agents.createdAt), desc(agents.did))
      .limit(page.limit + 1),
  );
};

export const findMarkets = (
  db: Database,
  did: string | SQL<string>,
  environment: string | SQL<string>,
): Read<MarketRow[]> =>
  readAll(
    db
      .select()
      .from(agentMarkets)
      .where(and(eq(agentMarkets.did, did), eq(agentMarkets.environment, environment)))
      .orderBy(asc(agentMarkets.market), asc(agentMarkets.network)),
  );

/** A page of them; the codes of market and network are the keyset. */
export const listMarketRows = (
  db: Database,
  did: string,
  environment: string,
  page: { limit: number; after: readonly [market: string, network: string] },
): Read<MarketRow[]> =>
  readAll(
    db
      .select()
      .from(agentMarkets)
      .where(
        and(
          eq(agentMarkets.did, did),
          eq(agentMarkets.environment, environment),
          sql`(${agentMarkets.market}, ${agentMarkets.network}) > (${page.after[0]}, ${page.after[1]})`,
        ),
      )
      .orderBy(asc(agentMarkets.market), asc(agentMarkets.network))
      .limit(page.limit + 1),
  );

export const findEscrows = (
  db: Database,
  did: string | SQL<string>,
  environment: string | SQL<string>,
): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(and(eq(escrows.did, did), eq(escrows.environment, environment)))
      .orderBy(asc(escrows.network)),
  );

/** A delegator and its delegators, nearest first; the depth is bounded when a delegate is registered. */
export const findAncestors = (db: Database, did: string): Read<AgentRow[]> =>
  read(
    db
      .select({ agent: getTableColumns(agents) })
      .from(agents)
      .innerJoin(
        sql`(with recursive chain(did, depth) as (
              select delegated_by, 1 from agents where did = ${did} and delegated_by is not null
              union all
              select a.delegated_by, chain.depth + 1 from agents a join chain on a.did = chain.did
              where a.delegated_by is not null and chain.depth < 10
            ) select did, depth from chain) as chain`,
        sql`chain.did = ${agents.did}`,
      )
      .orderBy(sql`chain.depth`),
    (rows) => rows.map((row) => row.agent),
  );

export const findAid = (db: Database, did: string): Read<AidRow | null> =>
  readOne(db.select().from(aids).where(eq(aids.did, did)));

export const findAidVersion = (
  db: Database,
  did: string,
  version: number,
): Read<{ content: string; proof: string } | null> =>
  readOne(
    db
      .select({ content: aidVersions.content, proof: aidVersions.proof })
      .from(aidVersions)
      .where(and(eq(aidVersions.did, did), eq(aidVersions.version, version))),
  );

/** A certificate that still counts: current, or replaced with a grace that is not over. */
export const findLiveCertificate = (db: Database, did: string, jti: string, now: number): Read<CertificateRow | null> =>
  readOne(
    db
      .select()
      .from(certificates)
      .where(
        and(
          eq(certificates.did, did),
          eq(certificates.jti, jti),
          or(isNull(certificates.replacedAt), gt(certificates.replacedAt, now)),
        ),
      ),
  );

export const insertAgent = (db: Database, row: typeof agents.$inferInsert): Statement => db.insert(agents).values(row);

/**
 * Writes only onto the revision that the change was decided on: whoever was faster wins, the other reads again. Only what
 * differs is written, because the row's running sums (spend, ratings, disputes) move without a revision.
 */
export const updateAgent = (db: Database, before: AgentRow, set: Partial<AgentRow>, also?: SQL): Statement[] =>
  mustChange(
    db,
    db
      .update(agents)
      .set({ revision: before.revision, ...changedColumns(before, set) })
      .where(
        and(eq(agents.did, before.did), eq(agents.status, before.status), eq(agents.revision, before.revision), also),
      ),
  );

/** For an agent that begins to run: its principal stands at the commit too, so that no cascade misses it. */
export const whileStanding = (now: number): SQL => principalStands(sql`${agents.principalId}`, now);

const RUNNING = sql`status in ('ACTIVE', 'FUNDING')`;

/** The agents of a principal that run, with what a view of them needs. */
export const findRunningAgents = (db: Database, principalId: string, slice: number) => {
  const running = sql`(select did, environment from agents where principal_id = ${principalId} and ${RUNNING}
      order by created_at, did limit ${slice})`;
  return {
    agents: readAll(
      db
        .select()
        .from(agents)
        .where(and(eq(agents.principalId, principalId), RUNNING))
        .orderBy(asc(agents.createdAt), asc(agents.did))
        .limit(slice),
    ),
    markets: readAll(
      db
        .select()
        .from(agentMarkets)
        .where(sql`(did, environment) in ${running}`)
        .orderBy(asc(agentMarkets.market), asc(agentMarkets.network)),
    ),
    escrows: readAll(
      db.select().from(escrows).where(sql`(did, environment) in ${running}`).orderBy(asc(escrows.network)),
    ),
  };
};

/**
 * 3.2: the agents that were read, or (`all`) every one of the principal that runs: fails when there is another by now, because
 * one that began to run meanwhile is not passed by.
 */
export const suspendAgents = (
  db: Database,
  read: readonly AgentRow[],
  all: { principalId: string } | null,
  set: Pick<AgentRow, "suspensionReason" | "updatedAt">,
): Statement[] => {
  const dids = JSON.stringify(read.map(({ did }) => did));
  const which = all ? eq(agents.principalId, all.principalId) : sql`did in (select value from json_each(${dids}))`;
  return [
    db
      .update(agents)
      .set({ ...set, status: "SUSPENDED", suspendedFrom: sql`${agents.status}`, statusNote: null })
      .where(and(which, RUNNING)),
    guard(db, sql`changes() = ${sql.raw(String(read.length))}`),
  ];
};

const changedColumns = (before: AgentRow, set: Partial<AgentRow>): Partial<AgentRow> =>
  Object.fromEntries(Object.entries(set).filter(([name, value]) => value !== before[name as keyof AgentRow]));

export const insertCertificate = (db: Database, row: typeof certificates.$inferInsert): Statement =>
  db.insert(certificates).values(row);

export const putAid = (db: Database, row: AidRow): Statement =>
  db.insert(aids).values(row).onConflictDoUpdate({ target: aids.did, set: row });

export const insertAidVersion = (db: Database, row: typeof aidVersions.$inferInsert): Statement =>
  db.insert(aidVersions).values(row);

export const putMarket = (db: Database, row: typeof agentMarkets.$inferInsert): Statement =>
  db
    .insert(agentMarkets)
    .values(row)
    .onConflictDoUpdate({
      target: [agentMarkets.did, agentMarkets.environment, agentMarkets.market, agentMarkets.network],
      set: row,
    });

/** Only onto what was read: another wallet may have been asked for, or the market taken away, meanwhile. */
export const updateMarket = (db: Database, before: MarketRow, after: MarketRow): Statement[] =>
  mustChange(
    db,
    db
      .update(agentMarkets)
      .set(after)
      .where(
        and(
          eq(agentMarkets.did, before.did),
          eq(agentMarkets.environment, before.environment),
          eq(agentMarkets.market, before.market),
          eq(agentMarkets.network, before.network),
          eq(agentMarkets.status, before.status),
          eq(agentMarkets.operationalWallet, before.operationalWallet),
        ),
      ),
  );
/** The transaction that what waits on this network now waits for. */
export const noteRegistration = (
  db: Database,
  { did, environment, network }: Pick<MarketRow, "did" | "environment" | "network">,
  registrationTx: string,
): Statement =>
  db
    .update(agentMarkets)
    .set({ registrationTx })
    .where(
      and(
        eq(agentMarkets.did, did),
        eq(agentMarkets.environment, environment),
        eq(agentMarkets.network, network),
        eq(agentMarkets.status, "PROVISIONING"),
      ),
    );

export const deleteMarket = (
  db: Database,
  row: Pick<MarketRow, "did" | "environment" | "market" | "network">,
): Statement[] =>
  mustChange(
    db,
    db
      .delete(agentMarkets)
      .where(
        and(
          eq(agentMarkets.did, row.did),
          eq(agentMarkets.environment, row.environment),
          eq(agentMarkets.market, row.market),
          eq(agentMarkets.network, row.network),
        ),
      ),
  );

/** Of one that is there only what the contract splits by: balance and threshold are others' to move. */
export const putEscrow = (db: Database, row: typeof escrows.$inferInsert): Statement =>
  db
    .insert(escrows)
    .values(row)
    .onConflictDoUpdate({
      target: [escrows.did, escrows.environment, escrows.network],
      set: { operationalWallet: row.operationalWallet, chainThreshold: row.chainThreshold },
    });

export const findStalledMarkets = (db: Database, before: number, slice: number): Read<MarketRow[]> =>
  readAll(
    db
      .select()
      .from(agentMarkets)
      .where(and(eq(agentMarkets.status, "PROVISIONING"), lt(agentMarkets.updatedAt, before)))
      .orderBy(asc(agentMarkets.updatedAt))
      .limit(slice),
  );
