// Store of unfinished restatements.
import { eq, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { walks } from "../db/tables/walks.ts";
import {
  beginWalk,
  beginWalks,
  changeWalks,
  deleteWalks,
  RESTARTED,
  RESTARTED_AT,
  WALK_KEY,
} from "../jobs/walk-store.ts";
import { selectAllPrincipalIds } from "../principals/group-store.ts";

type BegunRestatement = { readonly startedAt: number; readonly after: Due; readonly returning: Actor | null };

/** Stores a restatement. It replaces an unfinished one of the principal, and keeps the reactivation that this one was asked for, unless `forget`. */
export const beginRestatement = (
  db: Database,
  principalId: string,
  { startedAt, after, returning }: BegunRestatement,
  forget: boolean,
): Statement =>
  beginWalk(db, "restatement", principalId, { startedAt, after, payload: returning }).onConflictDoUpdate({
    target: WALK_KEY,
    set: {
      startedAt: RESTARTED_AT,
      // A relisting restarts with the first agent, because the slice of this batch was not relisted.
      afterAt: sql`case when ${walks.relisting} then ${RESTARTED.afterAt} else excluded.after_at end`,
      afterId: sql`case when ${walks.relisting} then ${RESTARTED.afterId} else excluded.after_id end`,
      payload: forget ? sql`excluded.payload` : sql`coalesce(excluded.payload, ${walks.payload})`,
    },
  });

/**
 * Runs before the statement that ends an account's unfinished suspension. Lists every agent of the account's principals again, because it is unknown
 * which of them readers have seen suspended (DIR-15); restatements that run start again with the first agent.
 */
export const relistAccount = (db: Database, platformId: string, startedAt: number): Statement =>
  beginRelistings(
    db,
    sql`principal_id`,
    sql`(${selectAllPrincipalIds(platformId)})
      where exists (select 1 from walks where kind = 'cascade' and subject = ${platformId} and "trigger" = 'principal_stops')`,
    startedAt,
  );

/** Lists all agents of one principal again, whatever has stopped it. */
export const relistPrincipal = (db: Database, principalId: string, startedAt: number): Statement =>
  beginRelistings(db, sql`${principalId}`, sql`(select 1) where true`, startedAt);

const beginRelistings = (db: Database, subject: SQL, from: SQL, startedAt: number): Statement =>
  beginWalks(db, "restatement", { subject, from, startedAt, relisting: true, payload: null }).onConflictDoUpdate({
    target: WALK_KEY,
    set: { ...RESTARTED, relisting: true },
  });

/** Reactivates the agents of ACTIVE principals, in slices of their own. `principalIds`: a query. */
export const beginReactivations = (db: Database, principalIds: SQL, actor: Actor, startedAt: number): Statement =>
  beginWalks(db, "restatement", {
    subject: sql`principal_id`,
    from: sql`principals where principal_id in (${principalIds}) and status = 'ACTIVE'`,
    startedAt,
    payload: actor,
  }).onConflictDoUpdate({ target: WALK_KEY, set: { ...RESTARTED, payload: sql`excluded.payload` } });

/** Makes an unfinished restatement of the principal reactivate no further agents. */
export const forgetReactivation = (db: Database, principalId: string): Statement =>
  changeWalks(db, "restatement", { payload: null }, eq(walks.subject, principalId));

/** Does so for a customer's principals. It starts from the restatements, of which there are few, however many principals the customer groups. */
export const forgetReactivations = (db: Database, customerId: string): Statement =>
  changeWalks(
    db,
    "restatement",
    { payload: null },
    sql`exists (select 1 from principals p where p.principal_id = walks.subject and p.customer_id = ${customerId})`,
  );

/** For a change that has restated all agents itself. */
export const dropRestatement = (db: Database, principalId: string): Statement =>
  deleteWalks(db, "restatement", sql`subject = ${principalId} and relisting is null`);
