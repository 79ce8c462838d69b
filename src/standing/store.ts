// Store of unfinished cascades.
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Condition, type Database, guard, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type CascadeRow, cascades } from "../db/tables/principals.ts";

export const findCascade = (db: Database, subjectId: string | SQL<string>): Read<CascadeRow | null> =>
  readOne(db.select().from(cascades).where(eq(cascades.subjectId, subjectId)));

/** The oldest cascades first. There are few: a row exists while its cascade runs. */
export const findCascades = (db: Database, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: cascades.startedAt, id: cascades.subjectId })
      .from(cascades)
      .where(sql`(${cascades.startedAt}, ${cascades.subjectId}) > (${after.at}, ${after.id})`)
      .orderBy(asc(cascades.startedAt), asc(cascades.subjectId))
      .limit(limit),
  );

/** Stores a cascade. A later one of the same subject replaces an earlier one and continues with the agents that are left. */
export const beginCascade = (db: Database, row: CascadeRow): Statement =>
  db.insert(cascades).values(row).onConflictDoUpdate({ target: cascades.subjectId, set: row });

const some = (left: readonly Condition[]) => sql`(${sql.join([...left], sql` or `)})`;

/** The same where something is left at its place in the batch; else only ends an earlier one. */
export const beginCascadeWhile = (db: Database, row: CascadeRow, left: readonly Condition[]): Statement[] => {
  const { subjectId, trigger, reason, actorType, actorId, startedAt } = row;
  return [
    db.delete(cascades).where(eq(cascades.subjectId, subjectId)),
    db
      .insert(cascades)
      .select(
        sql`select ${subjectId}, ${trigger}, ${reason}, ${actorType}, ${actorId}, ${startedAt} from (select 1) where ${some(left)}`,
      ),
  ];
};

const same = ({ subjectId, trigger, startedAt }: CascadeRow) =>
  and(eq(cascades.subjectId, subjectId), eq(cascades.trigger, trigger), eq(cascades.startedAt, startedAt));

/** Refuses a slice of a cascade that another one has replaced. */
export const guardCascade = (db: Database, row: CascadeRow): Statement =>
  guard(db, sql`exists (select 1 from cascades where ${same(row)})`);

/** Refuses while something is left. */
export const refuseLeft = (db: Database, left: readonly Condition[]): Statement => guard(db, sql`not ${some(left)}`);

/** Leaves a cascade that has replaced this one meanwhile. */
export const endCascade = (db: Database, row: CascadeRow): Statement => db.delete(cascades).where(same(row));
