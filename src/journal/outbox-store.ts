// Store of the outbox: events by number, and the number of the last delivered one.
import { asc, eq, type SQL, sql } from "drizzle-orm";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type EventRow, events, outbox } from "../db/tables/journal.ts";

/** Each mark follows the events on its own: for the subscribers, for the event list, and for webhooks. */
type Mark = "all" | "listed" | "webhooks";

export const findMark = (db: Database, name: Mark = "all"): Read<{ seq: number } | null> =>
  readOne(db.select({ seq: outbox.seq }).from(outbox).where(eq(outbox.name, name)));

/** The number of a mark, as an expression; 0 before the first event. */
export const selectMark = (name: Mark): SQL => sql`coalesce((select seq from outbox where name = ${name}), 0)`;

/** Finds the events after the mark `all`, in their order. */
export const findNewEvents = (db: Database, limit: number): Read<EventRow[]> =>
  readAll(
    db
      .select()
      .from(events)
      .where(sql`${events.seq} > ${selectMark("all")}`)
      .orderBy(asc(events.seq))
      .limit(limit),
  );

/** Moves the mark. Only one of two runs that delivered the same events succeeds. */
export const moveMark = (db: Database, from: number, to: number, name: Mark = "all"): Statement[] =>
  mustChange(
    db,
    db
      .insert(outbox)
      .values({ name, seq: to })
      .onConflictDoUpdate({ target: outbox.name, set: { seq: to }, setWhere: eq(outbox.seq, from) }),
  );
