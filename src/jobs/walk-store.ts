// Store of walks.
import { and, asc, eq, is, SQL, sql } from "drizzle-orm";
import { BEFORE_FIRST_DUE, type Due } from "../core/clock.ts";
import {
  type Database,
  guard,
  mustChange,
  type PlainStatement,
  type Read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { type Walk, type WalkKind, type WalkPayloads, walks } from "../db/tables/walks.ts";

const isWalk = (kind: WalkKind, subject: string | SQL): SQL | undefined =>
  and(eq(walks.kind, kind), eq(walks.subject, subject));

export const findWalk = <Kind extends WalkKind>(
  db: Database,
  kind: Kind,
  subject: string | SQL,
): Read<Walk<Kind> | null> => readOne(db.select().from(walks).where(isWalk(kind, subject))) as Read<Walk<Kind> | null>;

/** The oldest walks of a kind first. There are few: a row exists while its walk runs. */
export const findWalks = (db: Database, kind: WalkKind, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: walks.startedAt, id: walks.subject })
      .from(walks)
      .where(and(eq(walks.kind, kind), sql`(${walks.startedAt}, ${walks.subject}) > (${after.at}, ${after.id})`))
      .orderBy(asc(walks.startedAt), asc(walks.subject))
      .limit(limit),
  );

export type BegunWalk<Kind extends WalkKind> = {
  readonly startedAt: number;
  readonly after?: Due;
  readonly trigger?: Walk<Kind>["trigger"];
  readonly payload: WalkPayloads[Kind];
};

/** Stores a walk. A caller whose walk may already run adds what happens to that one. */
export const beginWalk = <Kind extends WalkKind>(
  db: Database,
  kind: Kind,
  subject: string,
  { after = BEFORE_FIRST_DUE, ...begun }: BegunWalk<Kind>,
) => db.insert(walks).values({ kind, subject, afterAt: after.at, afterId: after.id, ...begun });

type BegunColumns = { readonly trigger?: string; readonly report?: SQL; readonly relisting?: true };

/** Stores a walk for each row of a query. `subject`: an expression over it. */
export const beginWalks = <Kind extends WalkKind>(
  db: Database,
  kind: Kind,
  {
    subject,
    from,
    startedAt,
    trigger,
    report,
    relisting,
    payload,
  }: Omit<BegunWalk<Kind>, "payload"> &
    BegunColumns & { readonly subject: SQL; readonly from: SQL; readonly payload: WalkPayloads[Kind] | SQL },
) => {
  const { at, id } = BEFORE_FIRST_DUE;
  const stored = payload === null || is(payload, SQL) ? payload : JSON.stringify(payload);
  return db
    .insert(walks)
    .select(
      sql`select ${kind}, ${subject}, ${startedAt}, ${at}, ${id}, ${trigger ?? null}, ${report ?? null}, ${relisting ? 1 : null}, ${stored} from ${from}`,
    );
};

export const WALK_KEY = [walks.kind, walks.subject];
/** A walk that begins again counts as another one, even within one millisecond. */
export const RESTARTED_AT = sql`max(excluded.started_at, ${walks.startedAt} + 1)`;
export const RESTARTED = { startedAt: RESTARTED_AT, afterAt: BEFORE_FIRST_DUE.at, afterId: BEFORE_FIRST_DUE.id };

/**
 * The position of a walk in the order of agents, for a reading of the same trip. The DID is a text expression, because SQLite does not search by a
 * column of this affinity: with many agents of one creation time each slice would read all finished ones.
 */
export const selectAgentPosition = (kind: WalkKind, subject: string): SQL =>
  sql`(select after_at, after_id || ' ' from walks where ${isWalk(kind, subject)})`;

const isAsRead = ({ kind, subject, startedAt, afterAt, afterId, trigger }: Walk<WalkKind>): SQL | undefined =>
  and(
    isWalk(kind, subject),
    eq(walks.startedAt, startedAt),
    eq(walks.afterAt, afterAt),
    eq(walks.afterId, afterId),
    sql`${walks.trigger} is ${trigger}`,
  );

/** Ends a walk, or moves it to the position after its slice. Aborts the batch if another run has written the slice, or the walk began again. */
export function advanceWalk(db: Database, walk: Walk<WalkKind>, next: Due | null): Statement[] {
  if (next === null) return mustChange(db, db.delete(walks).where(isAsRead(walk)));
  const { at, id } = next;
  if (at === walk.afterAt && id === walk.afterId)
    return [guard(db, sql`exists (select 1 from walks where ${isAsRead(walk)})`)];
  return mustChange(db, db.update(walks).set({ afterAt: at, afterId: id }).where(isAsRead(walk)));
}

export const changeWalks = (
  db: Database,
  kind: WalkKind,
  set: { readonly report?: null; readonly payload?: null },
  where: SQL,
): Statement =>
  db
    .update(walks)
    .set(set)
    .where(and(eq(walks.kind, kind), where));

export const deleteWalks = (db: Database, kind: WalkKind, where: SQL): PlainStatement =>
  db.delete(walks).where(and(eq(walks.kind, kind), where));
