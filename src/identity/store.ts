// Store of signed documents and their versions, and of the reads of an agent without a tenant: for the public, for counterparties and for the
// calling agent itself.
import { and, asc, desc, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import {
  aliasColumns,
  type Database,
  type PlainStatement,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { selectClockOffset, type Timed } from "../db/clock.ts";
import { compileInsert, compileOnce, type RowOf } from "../db/compiled.ts";
import { deflateJson } from "../db/deflated.ts";
import { eachOf } from "../db/lists.ts";
import { splitIntoParts } from "../db/parts.ts";
import { platforms } from "../db/tables/accounts.ts";
import { type AgentRow, agentMarkets, agents, aids, aidVersions, type MarketRow } from "../db/tables/agents.ts";
import { type EscrowRow, escrows } from "../db/tables/money.ts";
import { type PrincipalRow, principals } from "../db/tables/principals.ts";
import type { StoredStatus } from "../principals/effective-status.ts";

export type AgentWithPrincipal = { agent: AgentRow; principal: PrincipalRow };

// ---- Reads of an agent -------------------------------------------------------------------------------------------------

// Drizzle maps a column three times faster under its own name, so only the principal's columns are renamed.
export const withPrincipal = { agent: getTableColumns(agents), principal: aliasColumns(principals, "p") };

export const selectAgent = (db: Database, where: SQL | undefined) =>
  db
    .select(withPrincipal)
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(where);

const byDid = eq(agents.did, sql`${sql.placeholder("did")}`);

const publicAgentByDid = compileOnce((db) => selectAgent(db, byDid));

/** For the public and for counterparties: without a tenant, because the registry is public. */
export const findPublicAgent = (db: Database, did: string | SQL<string>): Read<AgentWithPrincipal | null> =>
  readOne(typeof did === "string" ? publicAgentByDid(db, { did }) : selectAgent(db, eq(agents.did, did)));

/** `owners`: a subquery with the column `did`. */
export const findPublicAgents = (db: Database, owners: SQL): Read<AgentWithPrincipal[]> =>
  readAll(selectAgent(db, sql`${agents.did} in (select did from ${owners})`));

type AgentRatingRow = Pick<AgentRow, "did" | "environment" | "status" | "agentRating" | "walletAsks">;
export const findAgentRating = (db: Database, did: string): Read<AgentRatingRow | null> =>
  readOne(
    db
      .select({
        did: agents.did,
        environment: agents.environment,
        status: agents.status,
        agentRating: agents.agentRating,
        walletAsks: agents.walletAsks,
      })
      .from(agents)
      .where(eq(agents.did, did)),
  );

const timedAgentByDid = compileOnce((db) =>
  db
    .select({ ...withPrincipal, clockOffsetMs: selectClockOffset(agents) })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(byDid),
);

/** Like `findPublicAgent`, with the clock of the agent's platform, which rules its principal's attestation (ACC-9) and dates its rating (TSK-18). */
export const findTimedAgent = (db: Database, did: string): Read<Timed<AgentWithPrincipal> | null> =>
  readOne(timedAgentByDid(db, { did }));

/** The platform of an agent as an expression, for reads in the trip that finds the agent. */
export const selectAgentPlatform = (did: string): SQL<string> =>
  sql<string>`(select platform_id from agents where did = ${did})`;

export const selectAgentEnvironment = (did: string | SQL<string>): SQL<Environment> =>
  sql<Environment>`(select environment from agents where did = ${did})`;

export const findEnvironment = (db: Database, did: string): Read<Environment | null> =>
  read(
    db.select({ environment: agents.environment }).from(agents).where(eq(agents.did, did)),
    (rows) => rows[0]?.environment ?? null,
  );

const callingColumns = {
  platformId: agents.platformId,
  principalId: agents.principalId,
  environment: agents.environment,
  economicRole: agents.economicRole,
  status: agents.status,
  principalStatus: sql<PrincipalRow["status"]>`${principals.status}`.as("principal_status"),
  attestationExpiresAt: principals.attestationExpiresAt,
  accountStopped: principals.accountStopped,
  platformStatus: sql<(typeof platforms.$inferSelect)["status"]>`${platforms.status}`.as("platform_status"),
  clockOffsetMs: platforms.clockOffsetMs,
};

const callingAgentByDid = compileOnce((db) =>
  db
    .select(callingColumns)
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .innerJoin(platforms, eq(platforms.platformId, agents.platformId))
    .where(byDid),
);
export type CallingAgent = RowOf<typeof callingAgentByDid>;

/** The statuses that decide whether an agent may call: its own, its principal's and its platform's. */
export const findCallingAgent = (db: Database, did: string): Read<CallingAgent | null> =>
  readOne(callingAgentByDid(db, { did }));

/** The columns that decide an agent's effective status. */
export const effectiveStatusColumns = {
  status: agents.status,
  environment: agents.environment,
  principalStatus: sql<PrincipalRow["status"]>`${principals.status}`.as("principal_status"),
  attestationExpiresAt: principals.attestationExpiresAt,
  accountStopped: principals.accountStopped,
};
export const toPrincipalStanding = ({
  principalStatus: status,
  attestationExpiresAt,
  accountStopped,
}: Pick<CallingAgent, "principalStatus" | "attestationExpiresAt" | "accountStopped">): StoredStatus => ({
  status,
  attestationExpiresAt,
  accountStopped,
});

const statusByDid = compileOnce((db) =>
  db
    .select({
      ...effectiveStatusColumns,
      certTier: agents.certTier,
      economicRole: agents.economicRole,
      escrowStates: agents.escrowStates,
      version: agents.version,
      revision: agents.revision,
      ratingWeight: agents.ratingWeight,
      ratingWeighted: agents.ratingWeighted,
      ratingInteractions: agents.ratingInteractions,
      ratingCounterparties: agents.ratingCounterparties,
      ratingHeaviest: agents.ratingHeaviest,
      clockOffsetMs: selectClockOffset(agents),
    })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(byDid),
);

/** Finds the columns of an agent's public status, with the clock of its platform, which dates its rating (TSK-18). */
export const findStatus = (db: Database, did: string): Read<RowOf<typeof statusByDid> | null> =>
  readOne(statusByDid(db, { did }));

const subjectByDid = compileOnce((db) =>
  db
    .select({
      ...effectiveStatusColumns,
      did: agents.did,
      endpointUrl: agents.endpointUrl,
      keyId: agents.keyId,
      publicJwk: agents.publicJwk,
      earlierKey: agents.earlierKey,
      createdAt: agents.createdAt,
    })
    .from(agents)
    .innerJoin(principals, eq(principals.principalId, agents.principalId))
    .where(byDid),
);
export type SubjectRow = RowOf<typeof subjectByDid>;

export const findSubjectRow = (db: Database, did: string): Read<SubjectRow | null> =>
  readOne(subjectByDid(db, { did }));

/** The delegators of an agent, nearest first; registration bounds their number (AGT-24). */
export const findAncestors = (db: Database, did: string): Read<AgentRow[]> =>
  read(
    ancestorsByDid(db, { did }),
    // At most five rows, sorted here to save the database a sort.
    (rows: RowOf<typeof ancestorsByDid>[]) => rows.sort((a, b) => a.depth - b.depth).map((row) => row.agent),
  );

const ancestorsByDid = compileOnce((db) =>
  db
    .select({ agent: getTableColumns(agents), depth: sql<number>`chain.key`.as("depth") })
    .from(agents)
    .innerJoin(
      sql`${eachOf(sql`(select delegators from agents where did = ${sql.placeholder("did")})`)} as chain`,
      sql`${agents.did} = chain.value`,
    ),
);

// ---- Markets and escrows of a document -----------------------------------------------------------------------------------

const selectMarkets = (db: Database, where: SQL | undefined): Read<MarketRow[]> =>
  readAll(db.select().from(agentMarkets).where(where).orderBy(asc(agentMarkets.market), asc(agentMarkets.network)));

export const findMarkets = (
  db: Database,
  did: string,
  environment: Environment | SQL<Environment>,
): Read<MarketRow[]> => selectMarkets(db, and(eq(agentMarkets.did, did), eq(agentMarkets.environment, environment)));

/** Reads both environments: one range costs a row less than two. */
export const findMarketsEverywhere = (db: Database, did: string): Read<MarketRow[]> => {
  const { environment, market, network } = agentMarkets;
  const query = db.select().from(agentMarkets).where(eq(agentMarkets.did, did));
  return readAll(query.orderBy(asc(environment), asc(market), asc(network)));
};

const selectEscrows = (db: Database, where: SQL | undefined): Read<EscrowRow[]> =>
  readAll(db.select().from(escrows).where(where).orderBy(asc(escrows.network)));

export const findEscrows = (
  db: Database,
  did: string,
  environment: Environment | SQL<Environment>,
): Read<EscrowRow[]> => selectEscrows(db, and(eq(escrows.did, did), eq(escrows.environment, environment)));

/** `owner`: an agent and an environment, as one expression. */
export const findMarketsOf = (db: Database, owner: SQL): Read<MarketRow[]> =>
  selectMarkets(db, sql`(${agentMarkets.did}, ${agentMarkets.environment}) = ${owner}`);

export const findEscrowsOf = (db: Database, owner: SQL): Read<EscrowRow[]> =>
  selectEscrows(db, sql`(${escrows.did}, ${escrows.environment}) = ${owner}`);

/** `owners`: a subquery with the columns `did` and `environment`. */
export const findMarketsIn = (db: Database, owners: SQL): Read<MarketRow[]> =>
  readAll(
    db
      .select()
      .from(agentMarkets)
      .where(sql`(${agentMarkets.did}, ${agentMarkets.environment}) in (select did, environment from ${owners})`),
  );

export const findEscrowsIn = (db: Database, owners: SQL): Read<EscrowRow[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(sql`(${escrows.did}, ${escrows.environment}) in (select did, environment from ${owners})`),
  );

// ---- Documents -----------------------------------------------------------------------------------------------------------

export type SignedDocument = { readonly content: string; readonly proof: string };

/** The document as it was last signed; null for a DRAFT. */
export const findAid = (db: Database, did: string): Read<(SignedDocument & { revision: number }) | null> =>
  readOne(
    db
      .select({ revision: aids.revision, content: aids.content, proof: aids.proof })
      .from(aids)
      .where(eq(aids.did, did)),
  );

export const findAidVersion = (db: Database, did: string, version: number): Read<SignedDocument | null> =>
  readOne(
    db
      .select({ content: aidVersions.content, proof: aidVersions.proof })
      .from(aidVersions)
      .where(and(eq(aidVersions.did, did), eq(aidVersions.version, version))),
  );

/** The newest signed version, which holds the agent's certificate; null before activation. */
export const findNewestVersion = (db: Database, did: string): Read<{ content: string } | null> =>
  readOne(
    db
      .select({ content: aidVersions.content })
      .from(aidVersions)
      .where(eq(aidVersions.did, did))
      .orderBy(desc(aidVersions.version))
      .limit(1),
  );

export const findCertificateDocument = (db: Database, did: string) =>
  readOne(
    db
      .select({ keyId: agents.keyId, certificateExpiresAt: agents.certificateExpiresAt, content: aidVersions.content })
      .from(agents)
      .innerJoin(aidVersions, eq(aidVersions.did, agents.did))
      .where(eq(agents.did, did))
      .orderBy(desc(aidVersions.version))
      .limit(1),
  );

/**
 * Stores the document that a change by the platform signed in its own batch, if its revision is still the expected one: another change may have
 * taken that number.
 */
export const storeAid = (
  db: Database,
  { did, revision, content, proof }: SignedDocument & { did: string; revision: number },
): Statement =>
  db
    .insert(aids)
    .select(
      sql`select ${did}, ${revision}, ${content}, ${proof} from agents where did = ${did} and revision = ${revision}`,
    )
    .onConflictDoUpdate({
      target: aids.did,
      set: { revision, content, proof },
      setWhere: sql`aids.revision < ${revision}`,
    });

/** Stores a document that a reader signed. The first signature of a revision stays, and a newer revision is never replaced (IDN-18). */
export const storeSignedAid = (db: Database, row: typeof aids.$inferInsert): PlainStatement => {
  const { revision, content, proof } = row;
  return db
    .insert(aids)
    .values(row)
    .onConflictDoUpdate({
      target: aids.did,
      set: { revision, content, proof },
      setWhere: sql`aids.revision < ${revision}`,
    });
};

export type AidVersionRow = typeof aidVersions.$inferSelect;

export const insertAidVersion = compileInsert((db) => db.insert(aidVersions));

export const insertAidVersions = (db: Database, rows: readonly AidVersionRow[]): Statement[] =>
  splitIntoParts(
    rows.map(({ did, version, content, proof }) => [did, version, deflateJson(content).toString("hex"), proof]),
  ).map((part) =>
    db
      .insert(aidVersions)
      .select(sql`select value ->> 0, value ->> 1, unhex(value ->> 2), value ->> 3 from ${part.rows}`),
  );
