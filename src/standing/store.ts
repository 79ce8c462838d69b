// Store of unfinished cascades and of the agents that they still have to stop.
import { and, asc, eq, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, guard, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type AgentRow, agentMarkets, agents } from "../db/tables/agents.ts";
import { escrows } from "../db/tables/money.ts";
import { type CascadeRow, cascades } from "../db/tables/principals.ts";

const RUNNING = sql`status in ('ACTIVE', 'FUNDING')`;

/** A slice of the running agents of a principal, with the rows that a view of them needs. */
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

/** Stops the agents that were read; refused when one of them has changed its status meanwhile. */
export const suspendAgents = (
  db: Database,
  read: readonly AgentRow[],
  set: Pick<AgentRow, "suspensionReason" | "updatedAt">,
): Statement[] => [
  db
    .update(agents)
    .set({ ...set, status: "SUSPENDED", suspendedFrom: sql`${agents.status}`, statusNote: null })
    .where(and(sql`did in (select value from json_each(${JSON.stringify(read.map(({ did }) => did))}))`, RUNNING)),
  guard(db, sql`changes() = ${sql.raw(String(read.length))}`),
];

/** A guard that no agent of the principal runs. One that began to run after the reading fails the batch and is read the next time. */
export const refuseRunning = (db: Database, principalId: string): Statement =>
  guard(db, sql`not exists (select 1 from agents where principal_id = ${principalId} and ${RUNNING})`);

export const findCascade = (db: Database, principalId: string): Read<CascadeRow | null> =>
  readOne(db.select().from(cascades).where(eq(cascades.principalId, principalId)));

/** The oldest cascades first. There are few: a row exists while its cascade runs. */
export const findCascades = (db: Database, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: cascades.startedAt, id: cascades.principalId })
      .from(cascades)
      .where(sql`(${cascades.startedAt}, ${cascades.principalId}) > (${after.at}, ${after.id})`)
      .orderBy(asc(cascades.startedAt), asc(cascades.principalId))
      .limit(limit),
  );

/** Stores a cascade. A later stop of the same principal replaces an earlier one and continues with the agents that are left. */
export const beginCascade = (db: Database, row: CascadeRow): Statement =>
  db.insert(cascades).values(row).onConflictDoUpdate({ target: cascades.principalId, set: row });

export const endCascade = (db: Database, principalId: string): Statement =>
  db.delete(cascades).where(eq(cascades.principalId, principalId));
