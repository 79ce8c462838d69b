// Store that lists events after their commit, and deletes them after 30 days (EVT-18, EVT-19).
import { asc, desc, lte, type SQL, sql } from "drizzle-orm";
import { type Database, type PlainStatement, type Read, read, type Statement } from "../db/batch.ts";
import { eventMarks, events } from "../db/tables/journal.ts";
import { moveMark, selectMark } from "./outbox-store.ts";
import { deleteEvents, markListed } from "./store.ts";

/** The number of the last event that is listed, as an expression. */
export const LISTED_TO = selectMark("listed");

export type Unlisted = { readonly seq: number; readonly occurredAt: number };

export const findUnlisted = (db: Database, limit: number): Read<Unlisted[]> =>
  read(
    db
      .select({ seq: events.seq, occurredAt: events.occurredAt })
      .from(events)
      .where(sql`${events.seq} > ${LISTED_TO}`)
      .orderBy(asc(events.seq))
      .limit(limit),
    (rows) => rows,
  );

/** Lists the events after `from`, up to `to`, and moves the mark. If two runs read the same events, the second one is refused. */
export const markEventsListed = (db: Database, from: number, to: number): Statement[] => [
  ...moveMark(db, from, to, "listed"),
  markListed(db, from, to),
];

// ---- Age -----------------------------------------------------------------------------------------------------------------

/** Notes the number of the last event, unless one was noted after `since`. */
export const recordAge = (db: Database, now: number, since: number): PlainStatement =>
  db.insert(eventMarks).select(
    sql`select ${now}, (select max(seq) from events)
      where not exists (select 1 from event_marks where at > ${since}) and (select max(seq) from events) is not null`,
  );

/** The number up to which events are older than the instant, as an expression. */
export const selectLastNumberBefore = (instant: number): SQL =>
  sql`coalesce((select m.seq from event_marks m where m.at <= ${instant} order by m.at desc limit 1), 0)`;

/**
 * Finds the numbers of events that are no longer shown, oldest first. The newest event always stays, because SQLite numbers the next one after it.
 */
export const findPrunableEvents = (db: Database, before: number, limit: number): Read<number[]> =>
  read(
    db
      .select({ seq: events.seq })
      .from(events)
      .where(
        sql`${events.seq} <= min(${selectLastNumberBefore(before)}, ${LISTED_TO}, ${selectMark("all")}, ${selectMark("webhooks")},
          (select max(seq) from events) - 1)`,
      )
      .orderBy(asc(events.seq))
      .limit(limit),
    (rows) => rows.map(({ seq }) => seq),
  );

/** Deletes events, and the age marks that no longer bound any event. */
export const pruneEvents = (db: Database, seqs: readonly number[], before: number): Statement[] => {
  const newest = db
    .select({ at: eventMarks.at })
    .from(eventMarks)
    .where(lte(eventMarks.at, before))
    .orderBy(desc(eventMarks.at))
    .limit(1);
  return [deleteEvents(db, seqs), db.delete(eventMarks).where(sql`${eventMarks.at} < (${newest})`)];
};
