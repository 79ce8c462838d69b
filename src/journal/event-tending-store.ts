// Store of what is done to events behind their commits: they are listed, and deleted when nobody is shown them any more (EVT-18, EVT-19).
import { asc, desc, lte, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { eventMarks, events } from "../db/tables/journal.ts";
import { markOf, moveMark } from "./outbox-store.ts";
import { deleteEvents, markListed } from "./store.ts";

/** The number of the last event that is listed, as an expression. */
export const LISTED_TO = markOf("listed");

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

/** Gives the events behind a number their places in the indexes, up to another, and moves the mark: for one of two runs that read the same. */
export const listEvents = (db: Database, from: number, to: number): Statement[] => [
  ...moveMark(db, from, to, "listed"),
  markListed(db, from, to),
];

// ---- Age -----------------------------------------------------------------------------------------------------------------

/** Notes the number of the last event, unless one is noted since an instant. */
export const noteAge = (db: Database, now: number, since: number): Statement =>
  db.insert(eventMarks).select(
    sql`select ${now}, (select max(seq) from events)
      where not exists (select 1 from event_marks where at > ${since}) and (select max(seq) from events) is not null`,
  );

/** The number up to which events are older than an instant, as an expression. */
export const olderThan = (instant: number): SQL =>
  sql`coalesce((select m.seq from event_marks m where m.at <= ${instant} order by m.at desc limit 1), 0)`;

/** The numbers of events that nobody is shown any more, the oldest first. Never the newest of all, on which the next number follows. */
export const findPrunable = (db: Database, before: number, limit: number): Read<number[]> =>
  read(
    db
      .select({ seq: events.seq })
      .from(events)
      .where(
        sql`${events.seq} <= min(${olderThan(before)}, ${LISTED_TO}, ${markOf("all")}, ${markOf("webhooks")},
          (select max(seq) from events) - 1)`,
      )
      .orderBy(asc(events.seq))
      .limit(limit),
    (rows) => rows.map(({ seq }) => seq),
  );

/** With the marks that tell of nothing any more. */
export const pruneEvents = (db: Database, seqs: readonly number[], before: number): Statement[] => {
  const newest = db
    .select({ at: eventMarks.at })
    .from(eventMarks)
    .where(lte(eventMarks.at, before))
    .orderBy(desc(eventMarks.at))
    .limit(1);
  return [deleteEvents(db, seqs), db.delete(eventMarks).where(sql`${eventMarks.at} < (${newest})`)];
};
