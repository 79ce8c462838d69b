// Store of slices: many agents of a principal or of an account, read for a cascade with the rows that a view of each needs (PRN-17). A slice
// begins with the agents that are left, and never passes over those that are done.
import { and, asc, eq, getTableColumns, inArray, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Due } from "../core/due.ts";
import { type AgentStatus, ENVIRONMENTS } from "../core/vocabulary.ts";
import { type Database, readAll } from "../db/batch.ts";
import { agentMarkets, agents, aidVersions } from "../db/tables/agents.ts";
import { escrows } from "../db/tables/money.ts";
import { selectAgent } from "../identity/store.ts";

const ofPrincipal = (principalId: string, statuses: readonly AgentStatus[]): SQL | undefined =>
  and(eq(agents.principalId, principalId), inArray(agents.status, [...statuses]));

/** As an id, or as an expression of the trip that finds it. */
type PlatformId = string | SQL<string>;

/** Each pair of environment and status is a range of its own in the index. */
const ofAccount = (platformId: PlatformId, statuses: readonly AgentStatus[]): SQL | undefined =>
  and(
    eq(agents.platformId, platformId),
    inArray(agents.environment, [...ENVIRONMENTS]),
    inArray(agents.status, [...statuses]),
  );

/** The agents that the suspension of their account took (ACC-26). Literal text, so that SQLite uses the partial index. */
const takenFrom = (platformId: PlatformId): SQL | undefined =>
  and(eq(agents.platformId, platformId), sql`suspension_reason = 'operator'`);

const BY_AGE = [agents.createdAt, agents.did];
/** As the index has them. */
const BY_STATUS = [agents.environment, agents.status, ...BY_AGE];

const inOrder = (order: readonly SQLiteColumn[]): SQL[] => order.map((column) => asc(column));

/** The markets and escrows of the agents that the same batch finds. */
const ownedBySlice = (db: Database, where: SQL | undefined, order: readonly SQLiteColumn[], slice: number) => {
  const by = sql.join(inOrder(order), sql`, `);
  const found = sql`(select did, environment from agents where ${where} order by ${by} limit ${slice})`;
  return {
    markets: readAll(
      db
        .select()
        .from(agentMarkets)
        .where(sql`(did, environment) in ${found}`)
        .orderBy(asc(agentMarkets.market), asc(agentMarkets.network)),
    ),
    escrows: readAll(
      db.select().from(escrows).where(sql`(did, environment) in ${found}`).orderBy(asc(escrows.network)),
    ),
  };
};

/** The agents of a principal in one of the statuses, the oldest first. */
export const findAgentsIn = (db: Database, principalId: string, statuses: readonly AgentStatus[], slice: number) => {
  const where = ofPrincipal(principalId, statuses);
  const found = db.select().from(agents).where(where);
  return {
    agents: readAll(found.orderBy(...inOrder(BY_AGE)).limit(slice)),
    ...ownedBySlice(db, where, BY_AGE, slice),
  };
};

const accountSlice = (db: Database, where: SQL | undefined, order: readonly SQLiteColumn[], slice: number) => ({
  agents: readAll(
    selectAgent(db, where)
      .orderBy(...inOrder(order))
      .limit(slice),
  ),
  ...ownedBySlice(db, where, order, slice),
});

/** The agents of an account in one of the statuses, in both environments. */
export const findAccountAgentsIn = (
  db: Database,
  platformId: PlatformId,
  statuses: readonly AgentStatus[],
  slice: number,
) => accountSlice(db, ofAccount(platformId, statuses), BY_STATUS, slice);

/** The agents that the suspension of their account took, the oldest first. */
export const findTakenAgents = (db: Database, platformId: PlatformId, slice: number) =>
  accountSlice(db, takenFrom(platformId), BY_AGE, slice);

// ---- Agents in any status ------------------------------------------------------------------------------------------------

const ofOwner = (principalId: string | SQL<string>, after: Due): SQL | undefined =>
  and(eq(agents.principalId, principalId), sql`(${agents.createdAt}, ${agents.did}) > (${after.at}, ${after.id})`);

/** What the newest version of an agent states; null for a DRAFT. */
type Stated = "certificate" | "principal.name" | "principal.country" | "principal.verification.attestation_id";
const stated = (member: Stated, name: string) =>
  sql<string | null>`json_extract(${aidVersions.content}, ${sql.raw(`'$.identity.${member}'`)})`.as(name);
const withStated = {
  agent: getTableColumns(agents),
  certificate: stated("certificate", "stated_certificate"),
  name: stated("principal.name", "stated_name"),
  country: stated("principal.country", "stated_country"),
  attestationId: stated("principal.verification.attestation_id", "stated_attestation"),
};

/** A slice of all agents of a principal, in both environments, with what their newest versions state, and their markets. */
export const findStatedAgents = (db: Database, principalId: string | SQL<string>, after: Due, slice: number) => {
  const where = ofOwner(principalId, after);
  const found = sql`(select did, environment from agents where ${where} order by created_at, did limit ${slice})`;
  return {
    agents: readAll(
      db
        .select(withStated)
        .from(agents)
        .leftJoin(aidVersions, and(eq(aidVersions.did, agents.did), eq(aidVersions.version, agents.version)))
        .where(where)
        .orderBy(...inOrder(BY_AGE))
        .limit(slice),
    ),
    markets: readAll(
      db
        .select()
        .from(agentMarkets)
        .where(sql`(did, environment) in ${found}`)
        .orderBy(asc(agentMarkets.market), asc(agentMarkets.network)),
    ),
  };
};

// ---- Whether any is left -------------------------------------------------------------------------------------------------

const someAgent = (where: SQL | undefined): SQL => sql`exists (select 1 from agents where ${where})`;

export const someAgentIn = (principalId: string, statuses: readonly AgentStatus[]): SQL =>
  someAgent(ofPrincipal(principalId, statuses));

export const someAccountAgentIn = (platformId: string, statuses: readonly AgentStatus[]): SQL =>
  someAgent(ofAccount(platformId, statuses));

export const someTakenAgent = (platformId: string): SQL => someAgent(takenFrom(platformId));
