// Store of the terms by which events are found, and of the marks that tell their age (EVT-18, EVT-19).
import { asc, desc, lte, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, type Statement } from "../db/batch.ts";
import { inParts } from "../db/parts.ts";
import { type EventRow, eventMarks, events, eventTerms } from "../db/tables/journal.ts";
import { subjectsOf } from "./event-subjects.ts";
import { markOf, moveMark } from "./outbox-store.ts";
import { deleteEvents } from "./store.ts";

/** The number of the last event whose terms are written, as an expression. */
export const LISTED_TO = markOf("listed");

export const findUnlisted = (db: Database, limit: number): Read<EventRow[]> =>
  readAll(db.select().from(events).where(sql`${events.seq} > ${LISTED_TO}`).orderBy(asc(events.seq)).limit(limit));

type Place = Pick<EventRow, "platformId" | "environment" | "seq" | "type"> & { readonly term: string };

/** What all have, its id, and its subjects. */
const placesOf = (event: EventRow): Place[] => ["", event.id, ...subjectsOf(event)].map((term) => ({ ...event, term }));

/** The terms of events, and the mark behind the last of them: for one of two runs that read the same. */
export const listEvents = (db: Database, from: number, each: readonly EventRow[]): Statement[] => {
  const last = each.at(-1);
  if (!last) return [];
  const rows = each.flatMap(placesOf).map((at) => [at.platformId, at.environment, at.term, at.seq, at.type]);
  return [
    ...moveMark(db, from, last.seq, "listed"),
    ...inParts(rows).map((part) =>
      db
        .insert(eventTerms)
        .select(sql`select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 from ${part.rows}`),
    ),
  ];
};

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

/** Events that nobody is shown any more, the oldest first. Never the newest of all, on which the next number follows. */
export const findPrunable = (db: Database, before: number, limit: number): Read<EventRow[]> =>
  readAll(
    db
      .select()
      .from(events)
      .where(
        sql`${events.seq} <= min(${olderThan(before)}, ${LISTED_TO}, ${markOf("all")},
          ${markOf("webhooks")}, (select max(seq) from events) - 1)`,
      )
      .orderBy(asc(events.seq))
      .limit(limit),
  );

/** With their terms, and the marks that tell of nothing any more. */
export const pruneEvents = (db: Database, each: readonly EventRow[], before: number): Statement[] => {
  const rows = each.flatMap(placesOf).map((at) => [at.platformId, at.environment, at.term, at.seq]);
  const newest = db
    .select({ at: eventMarks.at })
    .from(eventMarks)
    .where(lte(eventMarks.at, before))
    .orderBy(desc(eventMarks.at))
    .limit(1);
  return [
    ...inParts(rows).map((part) =>
      db
        .delete(eventTerms)
        .where(
          sql`(platform_id, environment, term, seq) in (select value ->> 0, value ->> 1, value ->> 2, value ->> 3 from ${part.rows})`,
        ),
    ),
    deleteEvents(
      db,
      each.map(({ seq }) => seq),
    ),
    db.delete(eventMarks).where(sql`${eventMarks.at} < (${newest})`),
  ];
};
