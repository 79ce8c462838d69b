// Store of events, one at a time or many at once as JSON.
import { sql } from "drizzle-orm";
import { sqliteTable } from "drizzle-orm/sqlite-core";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { compileInsert } from "../db/compiled.ts";
import { isOneOf } from "../db/lists.ts";
import { splitIntoParts } from "../db/parts.ts";
import { eventColumns, events } from "../db/tables/journal.ts";
import { selectMark } from "./outbox-store.ts";

/** The events without `seq`, which SQLite assigns: a statement that names the column, even as null, reads one row more for each event. */
const newEvents = sqliteTable("events", eventColumns);

type Event = typeof newEvents.$inferInsert;
const compiledEventInsert = compileInsert((db) => db.insert(newEvents));
export const insertEvent = (db: Database, row: Event): Statement => ({
  statement: compiledEventInsert(db, row),
  notifies: {},
});

export const findEventsOf = (db: Database, platformId: string, slice: number): Read<number[]> =>
  read(
    db
      .select({ seq: sql<number>`seq` })
      .from(
        sql`(select seq from events indexed by events_by_tenant where listed = 1 and platform_id = ${platformId}
          union all select seq from events not indexed where seq > ${selectMark("listed")} and platform_id = ${platformId})`,
      )
      .limit(slice),
    (rows) => rows.map(({ seq }) => seq),
  );

export const deleteEvents = (db: Database, seqs: readonly number[]): Statement =>
  db.delete(events).where(isOneOf(events.seq, seqs));

export const markListed = (db: Database, after: number, to: number): Statement =>
  db.update(events).set({ listed: 1 }).where(sql`${events.seq} > ${after} and ${events.seq} <= ${to}`);

type EventOfOne = Pick<Event, "platformId" | "environment" | "id" | "object" | "previous" | "agentDid" | "subject">;

export const insertEvents = (
  db: Database,
  { at, type }: { readonly at: number; readonly type: string },
  each: readonly EventOfOne[],
): Statement[] =>
  splitIntoParts(
    each.map((row) => [
      row.platformId,
      row.environment,
      row.id,
      row.object,
      row.previous,
      row.agentDid,
      row.subject ?? null,
    ]),
  ).map(({ rows }) => ({
    statement: db.insert(newEvents).select(
      sql`select value ->> 0, value ->> 1, value ->> 2, ${type}, ${at}, value -> 3, nullif(value -> 4, 'null'), value ->> 5, null,
          value ->> 6, null from ${rows}`,
    ),
    notifies: {},
  }));
