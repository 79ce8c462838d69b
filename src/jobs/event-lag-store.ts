// Store that measures the lag of the outbox and the webhooks.
import { sql } from "drizzle-orm";
import { decodeIdInstant } from "../core/ids.ts";
import { type Database, type Read, read } from "../db/batch.ts";

/** `oldestAt`: when the first unprocessed event was written, by the clock of its change. */
export type EventLag = { readonly waiting: number; readonly oldestAt: number | null };

/** The number up to which both the outbox and the webhooks have processed events; 0 if either has never run. */
const PROCESSED_TO = sql`(select case when count(*) = 2 then min(seq) else 0 end as followed from outbox where name in ('all', 'webhooks'))`;

/** Subtracts the events' numbers, which have no gaps, because a refused batch uses up none. */
export const findEventLag = (db: Database, now: number): Read<EventLag> =>
  read(
    db
      .select({
        waiting: sql<number>`coalesce((select max(seq) from events), 0) - followed`.as("waiting"),
        oldest: sql<string | null>`(select id from events not indexed where seq > followed order by seq limit 1)`.as(
          "oldest",
        ),
      })
      .from(PROCESSED_TO),
    ([row]) => ({
      waiting: Math.max(0, row?.waiting ?? 0),
      oldestAt: row?.oldest == null ? null : Math.min(decodeIdInstant("evt", row.oldest) ?? now, now),
    }),
  );
