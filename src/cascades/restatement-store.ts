// Store of unfinished restatements.
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import { BEFORE_FIRST_DUE, type Due } from "../core/due.ts";
import type { Actor } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type RestatementRow, restatements } from "../db/tables/principals.ts";
import { selectAllPrincipalIds } from "../principals/group-store.ts";

export const findRestatement = (db: Database, principalId: string): Read<RestatementRow | null> =>
  readOne(db.select().from(restatements).where(eq(restatements.principalId, principalId)));

/** The oldest restatements first. There are few: a row exists while its restatement runs. */
export const findRestatements = (db: Database, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: restatements.startedAt, id: restatements.principalId })
      .from(restatements)
      .where(sql`(${restatements.startedAt}, ${restatements.principalId}) > (${after.at}, ${after.id})`)
      .orderBy(asc(restatements.startedAt), asc(restatements.principalId))
      .limit(limit),
  );

/** Stores a restatement. It replaces an unfinished one of the principal, and keeps the reactivation that this one was asked for, unless `forget`. */
export const beginRestatement = (db: Database, row: RestatementRow, forget: boolean): Statement => {
  const returning = sql`coalesce(excluded."returning", ${restatements.returning})`;
  const set = forget || row.returning !== null ? row : { ...row, returning };
  // A relisting restarts with the first agent, because the slice of this batch was not relisted.
  const relisting = sql`${restatements.relisting}`;
  const afterAt = sql`case when ${relisting} then ${BEFORE_FIRST_DUE.at} else ${row.afterAt} end`;
  const afterDid = sql`case when ${relisting} then ${BEFORE_FIRST_DUE.id} else ${row.afterDid} end`;
  return db
    .insert(restatements)
    .values(row)
    .onConflictDoUpdate({ target: restatements.principalId, set: { ...set, relisting, afterAt, afterDid } });
};

/**
 * Runs before the statement that ends an account's unfinished suspension. Lists every agent of the account's principals again, because it is unknown
 * which of them readers have seen suspended (DIR-15); restatements that run start again with the first agent.
 */
export const relistAccount = (db: Database, platformId: string, startedAt: number): Statement =>
  insertRelistings(
    db,
    sql`select principal_id, ${startedAt}, ${BEFORE_FIRST_DUE.at}, ${BEFORE_FIRST_DUE.id}, null, 1 from (${selectAllPrincipalIds(platformId)})
      where exists (select 1 from cascades where subject_id = ${platformId} and "trigger" = 'principal_stops')`,
  );

/** Lists all agents of one principal again, whatever has stopped it. */
export const relistPrincipal = (db: Database, principalId: string, startedAt: number): Statement =>
  insertRelistings(
    db,
    sql`select ${principalId}, ${startedAt}, ${BEFORE_FIRST_DUE.at}, ${BEFORE_FIRST_DUE.id}, null, 1 from (select 1) where true`,
  );

const insertRelistings = (db: Database, rows: SQL): Statement =>
  db
    .insert(restatements)
    .select(rows)
    .onConflictDoUpdate({
      target: restatements.principalId,
      set: {
        startedAt: sql`max(excluded.started_at, ${restatements.startedAt} + 1)`,
        afterAt: BEFORE_FIRST_DUE.at,
        afterDid: BEFORE_FIRST_DUE.id,
        relisting: true,
      },
    });

/** Reactivates the agents of ACTIVE principals, in slices of their own. `principalIds`: a query. */
export const beginReactivations = (db: Database, principalIds: SQL, actor: Actor, startedAt: number): Statement =>
  db
    .insert(restatements)
    .select(
      sql`select principal_id, ${startedAt}, ${BEFORE_FIRST_DUE.at}, ${BEFORE_FIRST_DUE.id}, ${JSON.stringify(actor)}, 0 from principals
        where principal_id in (${principalIds}) and status = 'ACTIVE'`,
    )
    .onConflictDoUpdate({
      target: restatements.principalId,
      set: {
        startedAt: sql`max(excluded.started_at, ${restatements.startedAt} + 1)`,
        afterAt: BEFORE_FIRST_DUE.at,
        afterDid: BEFORE_FIRST_DUE.id,
        returning: sql`excluded."returning"`,
      },
    });

/** Makes an unfinished restatement of the principal reactivate no further agents. */
export const forgetReactivation = (db: Database, principalId: string): Statement =>
  db.update(restatements).set({ returning: null }).where(eq(restatements.principalId, principalId));

/** Does so for a customer's principals. It starts from the restatements, of which there are few, however many principals the customer groups. */
export const forgetReactivations = (db: Database, customerId: string): Statement =>
  db
    .update(restatements)
    .set({ returning: null })
    .where(
      sql`started_at >= 0 and exists (select 1 from principals p
        where p.principal_id = restatements.principal_id and p.customer_id = ${customerId})`,
    );

/** For a change that has restated all agents itself. */
export const dropRestatement = (db: Database, principalId: string): Statement =>
  db.delete(restatements).where(and(eq(restatements.principalId, principalId), eq(restatements.relisting, false)));

/** Moves a restatement past a slice. Aborts the batch if the row changed since it was read. */
export const moveRestatement = (db: Database, before: RestatementRow, after: Due): Statement[] =>
  mustChange(
    db,
    db.update(restatements).set({ afterAt: after.at, afterDid: after.id }).where(isRestatementAsRead(before)),
  );

/** Aborts the batch if the row changed since it was read. */
export const endRestatement = (db: Database, before: RestatementRow): Statement[] =>
  mustChange(db, db.delete(restatements).where(isRestatementAsRead(before)));

const isRestatementAsRead = ({ principalId, startedAt, afterAt, afterDid }: RestatementRow) =>
  and(
    eq(restatements.principalId, principalId),
    eq(restatements.startedAt, startedAt),
    eq(restatements.afterAt, afterAt),
    eq(restatements.afterDid, afterDid),
  );
