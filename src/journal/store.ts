// Store of events and directory changes, one at a time or many at once as JSON.
import { sql } from "drizzle-orm";
import type { Database, Statement } from "../db/batch.ts";
import { directoryChanges, events } from "../db/tables/journal.ts";
import { inParts } from "./parts.ts";

type Event = typeof events.$inferInsert;
export const insertEvent = (db: Database, row: Event): Statement => db.insert(events).values(row);

type EventOfOne = Pick<Event, "platformId" | "environment" | "id" | "object">;

export const insertEvents = (
  db: Database,
  { at, type }: { readonly at: number; readonly type: string },
  each: readonly EventOfOne[],
): Statement[] =>
  inParts(each.map((row) => [row.platformId, row.environment, row.id, row.object])).map((part) =>
    db
      .insert(events)
      .select(
        sql`select null, value ->> 0, value ->> 1, value ->> 2, ${type}, ${at}, value -> 3 from json_each(${part})`,
      ),
  );

type Change = Pick<typeof directoryChanges.$inferInsert, "environment" | "did">;
type ChangeFacts = { readonly at: number; readonly changeType: string };

/** The number is drawn inside the batch: D1 runs one batch at a time, so its order is the order of commits (DIR-2). */
export const insertChange = (db: Database, { environment, did }: Change, { at, changeType }: ChangeFacts): Statement =>
  db.insert(directoryChanges).values({
    environment,
    seq: sql`(select coalesce(max(seq), 0) + 1 from directory_changes where environment = ${environment})`,
    did,
    changeType,
    occurredAt: at,
  });

export const insertChanges = (db: Database, each: readonly Change[], { at, changeType }: ChangeFacts): Statement[] =>
  inParts(each.map(({ environment, did }) => [environment, did])).map((part) =>
    db.insert(directoryChanges).select(
      sql`select value ->> 0, row_number() over (partition by value ->> 0 order by key)
          + (select coalesce(max(d.seq), 0) from directory_changes d where d.environment = value ->> 0),
          value ->> 1, ${changeType}, ${at} from json_each(${part})`,
    ),
  );
