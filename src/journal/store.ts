// Store of events and directory changes, one at a time or many at once as JSON.
import { eq, type SQL, sql } from "drizzle-orm";
import { sqliteTable } from "drizzle-orm/sqlite-core";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { inParts } from "../db/parts.ts";
import { directoryChanges, eventColumns, events } from "../db/tables/journal.ts";

/** The events without their numbers, which SQLite draws: where a statement names the column, as null too, each costs a row read. */
const newEvents = sqliteTable("events", eventColumns);

type Event = typeof newEvents.$inferInsert;
export const insertEvent = (db: Database, row: Event): Statement => db.insert(newEvents).values(row);

/** The numbers of a slice of a platform's events. */
export const findEventsOf = (db: Database, platformId: string, slice: number): Read<number[]> =>
  read(db.select({ seq: events.seq }).from(events).where(eq(events.platformId, platformId)).limit(slice), (rows) =>
    rows.map(({ seq }) => seq),
  );

export const deleteEvents = (db: Database, seqs: readonly number[]): Statement =>
  db.delete(events).where(sql`${events.seq} in (select value from json_each(${JSON.stringify(seqs)}))`);

type EventOfOne = Pick<Event, "platformId" | "environment" | "id" | "object" | "agentDid">;

export const insertEvents = (
  db: Database,
  { at, type }: { readonly at: number; readonly type: string },
  each: readonly EventOfOne[],
): Statement[] =>
  inParts(each.map((row) => [row.platformId, row.environment, row.id, row.object, row.agentDid])).map(({ rows }) =>
    db
      .insert(newEvents)
      .select(
        sql`select value ->> 0, value ->> 1, value ->> 2, ${type}, ${at}, value -> 3, value ->> 4, null from ${rows}`,
      ),
  );

type Change = Pick<typeof directoryChanges.$inferInsert, "environment" | "did">;
type ChangeFacts = { readonly at: number; readonly changeType: string };

/** The number is drawn inside the batch: D1 runs one batch at a time, so its order is the order of commits (DIR-2). */
export const insertChange = (db: Database, { environment, did }: Change, { at, changeType }: ChangeFacts): Statement =>
  db.insert(directoryChanges).values({
    environment,
    seq: sql`${lastChange(environment)} + 1`,
    did,
    changeType,
    occurredAt: at,
  });

export const lastChange = (environment: Environment): SQL =>
  sql`(select coalesce(max(seq), 0) from directory_changes where environment = ${environment})`;

export type NotedChanges = Readonly<Record<Environment, SQL>>;

/** Changes in their order, which each environment has for itself. `noted`: the numbers before them, where the batch has noted them. */
export const insertChanges = (
  db: Database,
  each: readonly Change[],
  facts: ChangeFacts,
  noted?: NotedChanges,
): Statement[] =>
  [...Map.groupBy(each, ({ environment }) => environment)].flatMap(([environment, own]) => {
    const [only] = own;
    if (only && own.length === 1) return [insertChange(db, only, facts)];
    return inParts(own.map(({ did }) => [did])).map(({ rows, before }) => {
      const last = noted ? sql`${noted[environment]} + ${before}` : lastChange(environment);
      return db
        .insert(directoryChanges)
        .select(
          sql`select ${environment}, key + 1 + ${last}, value ->> 0, ${facts.changeType}, ${facts.at} from ${rows}`,
        );
    });
  });
