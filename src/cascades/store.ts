// Store of unfinished cascades, of the reports of their principals, and of unfinished restatements.
import { and, eq, notInArray, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import type { ActivityAction, Actor } from "../core/vocabulary.ts";
import { type Condition, type Database, guard, type Statement } from "../db/batch.ts";
import { eachOf, isOneOf } from "../db/lists.ts";
import { principals } from "../db/tables/principals.ts";
import { type CascadeRow, walks } from "../db/tables/walks.ts";
import {
  beginWalk,
  beginWalks,
  changeWalks,
  deleteWalks,
  RESTARTED,
  RESTARTED_AT,
  WALK_KEY,
} from "../jobs/walk-store.ts";
import {
  type GroupMove,
  hasUnrecordedEnd,
  isMovable,
  selectAllPrincipalIds,
  selectStatusAfter,
} from "../principals/group-store.ts";

export type BegunCascade = Pick<CascadeRow, "trigger" | "startedAt"> & CascadeRow["payload"];

/** An id, or an expression of the trip that finds it. */
export type SubjectId = string | SQL<string>;

/** Stores the cascade of a principal, which continues after an agent. It replaces an earlier one. */
export const beginCascade = (
  db: Database,
  subjectId: string,
  { startedAt, trigger, reason, actor }: BegunCascade,
  after: Due,
): Statement =>
  beginWalk(db, "cascade", subjectId, { startedAt, after, trigger, payload: { reason, actor } }).onConflictDoUpdate({
    target: WALK_KEY,
    set: {
      startedAt: RESTARTED_AT,
      afterAt: after.at,
      afterId: after.id,
      trigger,
      report: null,
      payload: sql`excluded.payload`,
    },
  });

const joinAlternatives = (left: readonly Condition[]) => sql`(${sql.join([...left], sql` or `)})`;

/** Ids as rows. SQLite counts the rows of a list as read, but not a single id. */
function toIdRows(ids: readonly string[]): { readonly id: SQL<string>; readonly from: SQL; readonly within: SQL } {
  if (ids.length === 1) return { id: sql`${ids[0]}`, from: sql`(select 1)`, within: sql`subject = ${ids[0]}` };
  const from = eachOf(ids);
  return { id: sql`value`, from, within: sql`subject in (select value from ${from})` };
}

/**
 * Stores a cascade for each subject that has something left at this point of the batch. It replaces an earlier cascade of the subject, and continues
 * with what is left; if nothing is left, it only ends the earlier one.
 */
export const beginCascades = (
  db: Database,
  subjectIds: readonly string[],
  { startedAt, trigger, reason, actor }: BegunCascade,
  leftOf: (subjectId: SQL<string>) => readonly Condition[],
): Statement[] => {
  const { id, from, within } = toIdRows(subjectIds);
  return [
    deleteWalks(db, "cascade", within),
    beginWalks(db, "cascade", {
      subject: id,
      from: sql`${from} where ${joinAlternatives(leftOf(id))}`,
      startedAt,
      trigger,
      payload: { reason, actor },
    }),
  ];
};

export const refuseLeft = (db: Database, left: readonly Condition[]): Statement =>
  guard(db, sql`not ${joinAlternatives(left)}`);

// ---- Reports of principals -------------------------------------------------------------------------------------------------

/** The cascade of pending reports. Its `startedAt` changes when reports are added, so that none is missed. */
type Pending = Pick<CascadeRow, "subject" | "startedAt">;

export const guardReports = (db: Database, rows: readonly Pending[]): Statement => {
  const known = rows.map(({ subject, startedAt }) => [subject, startedAt]);
  return guard(
    db,
    sql`(select count(*) from ${eachOf(known)} as known cross join walks c on c.kind = 'cascade' and c.subject = known.value ->> 0
      where c.started_at = known.value ->> 1 and c.report is not null) = ${sql.raw(String(rows.length))}`,
  );
};

/** Clears the reports of cascades. A job ends a cascade that has nothing else left. */
export const clearReports = (db: Database, rows: readonly Pick<CascadeRow, "subject">[]): Statement => {
  const subjects = rows.map(({ subject }) => subject);
  return changeWalks(db, "cascade", { report: null }, isOneOf(sql`subject`, subjects));
};

/** An end of an attestation that no job has recorded: its report, and the cause of the agents that it suspends. */
export type Ending = { readonly action: ActivityAction; readonly begun: BegunCascade };
const ENDING = sql`json_object('status', json_object('from', 'ACTIVE', 'to', 'ATTESTATION_EXPIRED'))`;

const selectActReport = (action: ActivityAction, { actor, startedAt }: BegunCascade, changes: SQL): SQL =>
  sql`json_object('action', ${action}, 'actor', json(${JSON.stringify(actor)}),
    'at', ${startedAt}, 'changes', ${changes})`;

/**
 * Runs before the change, and stores the reports of all principals of the group except those that the batch itself reports. A running cascade keeps
 * its earlier reports, and a running stop keeps its cause. An unrecorded end is reported first.
 */
export const storeReports = (
  db: Database,
  { action, ...move }: GroupMove & { readonly action: ActivityAction },
  begun: BegunCascade,
  end: Ending | null,
  reported: readonly string[],
): Statement => {
  const { trigger, startedAt } = begun;
  const ended = end ? hasUnrecordedEnd(startedAt) : sql`false`;
  const own = selectActReport(action, begun, selectActChanges(move, ended, startedAt));
  const report = end
    ? sql`case when ${ended} then json_array(${selectActReport(end.action, end.begun, ENDING)}, ${own}) else json_array(${own}) end`
    : sql`json_array(${own})`;
  const cause = toStoredCause(begun);
  const isStop = sql`${walks.trigger} = 'principal_stops'`;
  return beginWalks(db, "cascade", {
    subject: sql`${principals.principalId}`,
    from: sql`${principals} where ${and(isMovable(move.where), notInArray(principals.principalId, [...reported]))}`,
    startedAt,
    trigger,
    report,
    payload: end ? sql`case when ${ended} then ${toStoredCause(end.begun)} else ${cause} end` : sql`${cause}`,
  }).onConflictDoUpdate({
    target: WALK_KEY,
    set: {
      // Agents that an earlier stop has left keep its cause. After a reactivation the stop starts again with the first agent.
      ...(trigger !== "principal_returns" && {
        ...RESTARTED,
        trigger,
        payload: sql`case when ${isStop} then ${walks.payload} else excluded.payload end`,
      }),
      startedAt: RESTARTED_AT,
      report: sql`case when ${walks.report} is null then excluded.report
        when excluded.report -> 1 is null then json_insert(${walks.report}, '$[#]', excluded.report -> 0)
        else json_insert(${walks.report}, '$[#]', excluded.report -> 0, '$[#]', excluded.report -> 1) end`,
    },
  });
};

const toStoredCause = ({ reason, actor }: BegunCascade): string => JSON.stringify({ reason, actor });

/** The changes of an act to a principal, as customer.ts computes them for the principals that the batch reports. */
const selectActChanges = ({ set, note }: GroupMove, ended: SQL, now: number): SQL => {
  const from = sql`case when ${ended} then 'ATTESTATION_EXPIRED' else ${principals.status} end`;
  const status = sql`'status', json_object('from', ${from}, 'to', ${selectStatusAfter(set, now)})`;
  if (typeof note !== "string") return sql`json_object(${status})`;
  return sql`json_object(${status}, 'reason', json_object('from', ${principals.statusNote}, 'to', ${note}))`;
};

// ---- Restatements -------------------------------------------------------------------------------------------------------

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
