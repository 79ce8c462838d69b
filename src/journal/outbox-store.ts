// Store of the outbox: events by number, and the number of the last delivered one.
import { asc, eq, gt } from "drizzle-orm";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type EventRow, events, outbox } from "../db/tables/journal.ts";

const ALL = "all";

export const findMark = (db: Database): Read<{ seq: number } | null> =>
  readOne(db.select({ seq: outbox.seq }).from(outbox).where(eq(outbox.name, ALL)));

export const findEventsAfter = (db: Database, seq: number, limit: number): Read<EventRow[]> =>
  readAll(db.select().from(events).where(gt(events.seq, seq)).orderBy(asc(events.seq)).limit(limit));

/** Moves the mark, for one of two runs that delivered the same events. */
export const moveMark = (db: Database, from: number, to: number): Statement[] =>
  mustChange(
    db,
    db
      .insert(outbox)
      .values({ name: ALL, seq: to })
      .onConflictDoUpdate({ target: outbox.name, set: { seq: to }, setWhere: eq(outbox.seq, from) }),
  );
