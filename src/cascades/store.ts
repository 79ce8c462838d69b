// Store of unfinished cascades.
import { and, asc, eq, isNotNull, isNull, notInArray, type SQL, sql } from "drizzle-orm";
import { BEFORE_FIRST_DUE, type Due } from "../core/due.ts";
import type { ActivityAction } from "../core/vocabulary.ts";
import {
  type Condition,
  type Database,
  guard,
  mustChange,
  type Read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { type CascadeRow, cascades, principals } from "../db/tables/principals.ts";
import { type GroupMove, hasUnrecordedEnd, isMovable, selectStatusAfter } from "../principals/group-store.ts";

/** An id, or an expression of the trip that finds it. */
export type SubjectId = string | SQL<string>;

export const findCascade = (db: Database, subjectId: SubjectId): Read<CascadeRow | null> =>
  readOne(db.select().from(cascades).where(eq(cascades.subjectId, subjectId)));

/** The oldest cascades first. There are few: a row exists while its cascade runs. */
export const findCascades = (db: Database, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: cascades.startedAt, id: cascades.subjectId })
      .from(cascades)
      // The index begins with this expression.
      .where(sql`(started_at >= 0) = 1 and (${cascades.startedAt}, ${cascades.subjectId}) > (${after.at}, ${after.id})`)
      .orderBy(asc(cascades.startedAt), asc(cascades.subjectId))
      .limit(limit),
  );

/** A cascade at its beginning. */
export type BegunCascade = Omit<CascadeRow, "subjectId" | "report" | "afterAt" | "afterDid">;

/** Stores the cascade of a principal, which continues after an agent. It replaces an earlier one. */
export const beginCascade = (db: Database, subjectId: string, begun: BegunCascade, { at, id }: Due): Statement => {
  const row: CascadeRow = { ...begun, subjectId, report: null, afterAt: at, afterDid: id };
  return db.insert(cascades).values(row).onConflictDoUpdate({ target: cascades.subjectId, set: row });
};

/** A position in the order of agents, as an expression of the same trip. */
export type Place = SQL;

/**
 * The position at which the cascade of a principal continues, for `isBehind` of the agents' store. The DID is a text expression, because SQLite does
 * not search by a column of this affinity: with many agents of one creation time each slice would read all finished ones.
 */
export const selectCascadePosition = (principalId: string): Place =>
  sql`(select after_at, after_did || ' ' from cascades where subject_id = ${principalId})`;

const joinAlternatives = (left: readonly Condition[]) => sql`(${sql.join([...left], sql` or `)})`;

/** Ids as rows. SQLite counts the rows of a list as read, but not a single id. */
function toIdRows(ids: readonly string[]): { readonly id: SQL<string>; readonly from: SQL; readonly within: SQL } {
  if (ids.length === 1) return { id: sql`${ids[0]}`, from: sql`(select 1)`, within: sql`subject_id = ${ids[0]}` };
  const from = sql`json_each(${JSON.stringify(ids)})`;
  return { id: sql`value`, from, within: sql`subject_id in (select value from ${from})` };
}

/**
 * Stores a cascade for each subject that has something left at this point of the batch. It replaces an earlier cascade of the subject, and continues
 * with what is left; if nothing is left, it only ends the earlier one.
 */
export const beginCascades = (
  db: Database,
  subjectIds: readonly string[],
  { trigger, reason, actorType, actorId, startedAt }: BegunCascade,
  leftOf: (subjectId: SQL<string>) => readonly Condition[],
): Statement[] => {
  const { id, from, within } = toIdRows(subjectIds);
  return [
    db.delete(cascades).where(within),
    db.insert(cascades).select(
      sql`select ${id}, ${trigger}, ${reason}, ${actorType}, ${actorId}, ${startedAt}, null,
            ${BEFORE_FIRST_DUE.at}, ${BEFORE_FIRST_DUE.id} from ${from} where ${joinAlternatives(leftOf(id))}`,
    ),
  ];
};

const isCascadeAsRead = ({ subjectId, trigger, startedAt, report, afterAt, afterDid }: CascadeRow) =>
  and(
    eq(cascades.subjectId, subjectId),
    eq(cascades.trigger, trigger),
    eq(cascades.startedAt, startedAt),
    report ? isNotNull(cascades.report) : isNull(cascades.report),
    eq(cascades.afterAt, afterAt),
    eq(cascades.afterDid, afterDid),
  );

/** Aborts the batch if another cascade has replaced this one, or another run has written its slice or its report. */
export const guardCascade = (db: Database, row: CascadeRow): Statement =>
  guard(db, sql`exists (select 1 from cascades where ${isCascadeAsRead(row)})`);

/** Aborts the batch while something is left. */
export const refuseLeft = (db: Database, left: readonly Condition[]): Statement =>
  guard(db, sql`not ${joinAlternatives(left)}`);

/** Moves the cascade of a principal past a slice. Aborts the batch like `guardCascade`. */
export const advanceCascade = (db: Database, row: CascadeRow, { at, id }: Due): Statement[] =>
  mustChange(db, db.update(cascades).set({ afterAt: at, afterDid: id }).where(isCascadeAsRead(row)));

/** Ends a cascade. Aborts the batch like `guardCascade`. */
export const endCascade = (db: Database, row: CascadeRow): Statement[] =>
  mustChange(db, db.delete(cascades).where(isCascadeAsRead(row)));

// ---- Reports of principals -------------------------------------------------------------------------------------------------

/** The cascade of pending reports. Its `startedAt` changes when reports are added, so that none is missed. */
type Pending = Pick<CascadeRow, "subjectId" | "startedAt">;

/** Aborts the batch unless all reports are as they were read. */
export const guardReports = (db: Database, rows: readonly Pending[]): Statement => {
  const known = JSON.stringify(rows.map(({ subjectId, startedAt }) => [subjectId, startedAt]));
  return guard(
    db,
    sql`(select count(*) from json_each(${known}) as known cross join cascades c on c.subject_id = known.value ->> 0
      where c.started_at = known.value ->> 1 and c.report is not null) = ${sql.raw(String(rows.length))}`,
  );
};

/** Clears the reports of cascades. A job ends a cascade that has nothing else left. */
export const clearReports = (db: Database, rows: readonly Pick<CascadeRow, "subjectId">[]): Statement => {
  const subjects = JSON.stringify(rows.map(({ subjectId }) => subjectId));
  return db.update(cascades).set({ report: null }).where(sql`subject_id in (select value from json_each(${subjects}))`);
};

/** An end of an attestation that no job has recorded: its report, and the cause of the agents that it suspends. */
export type Ending = { readonly action: ActivityAction; readonly begun: BegunCascade };
const ENDING = sql`json_object('status', json_object('from', 'ACTIVE', 'to', 'ATTESTATION_EXPIRED'))`;

const selectActReport = (action: ActivityAction, { actorType, actorId, startedAt }: BegunCascade, changes: SQL): SQL =>
  sql`json_object('action', ${action}, 'actor', json_object('type', ${actorType}, 'id', ${actorId}),
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
  const taker = (name: "reason" | "actorType" | "actorId") =>
    end ? sql`case when ${ended} then ${end.begun[name]} else ${begun[name]} end` : sql`${begun[name]}`;
  const first = (name: "reason" | "actor_type" | "actor_id") =>
    sql.raw(`case when cascades."trigger" = 'principal_stops' then cascades.${name} else excluded.${name} end`);
  const stops = trigger !== "principal_returns";
  return db
    .insert(cascades)
    .select(
      sql`select ${principals.principalId}, ${trigger}, ${taker("reason")}, ${taker("actorType")}, ${taker("actorId")}, ${startedAt}, ${report},
        ${BEFORE_FIRST_DUE.at}, ${BEFORE_FIRST_DUE.id} from ${principals} where ${and(isMovable(move.where), notInArray(principals.principalId, [...reported]))}`,
    )
    .onConflictDoUpdate({
      target: cascades.subjectId,
      set: {
        // Agents that an earlier stop has left keep its cause. After a reactivation the stop starts again with the first agent.
        ...(stops && {
          trigger,
          reason: first("reason"),
          actorType: first("actor_type"),
          actorId: first("actor_id"),
          afterAt: BEFORE_FIRST_DUE.at,
          afterDid: BEFORE_FIRST_DUE.id,
        }),
        startedAt: sql`max(excluded.started_at, ${cascades.startedAt} + 1)`,
        report: sql`case when ${cascades.report} is null then excluded.report
          when excluded.report -> 1 is null then json_insert(${cascades.report}, '$[#]', excluded.report -> 0)
          else json_insert(${cascades.report}, '$[#]', excluded.report -> 0, '$[#]', excluded.report -> 1) end`,
      },
    });
};

/** The changes of an act to a principal, as group.ts computes them for the principals that the batch reports. */
const selectActChanges = ({ set, note }: GroupMove, ended: SQL, now: number): SQL => {
  const from = sql`case when ${ended} then 'ATTESTATION_EXPIRED' else ${principals.status} end`;
  const status = sql`'status', json_object('from', ${from}, 'to', ${selectStatusAfter(set, now)})`;
  if (typeof note !== "string") return sql`json_object(${status})`;
  return sql`json_object(${status}, 'reason', json_object('from', ${principals.statusNote}, 'to', ${note}))`;
};
