// How far behind the events are: what no part of the service has followed up yet.
import { sql } from "drizzle-orm";
import { instantOfId } from "../core/ids.ts";
import { type Database, type Read, read } from "../db/batch.ts";

/** `oldestAt`: when the first of those events was written, by the clock that ruled its change. */
export type EventLag = { readonly waiting: number; readonly oldestAt: number | null };

/** Up to where all have followed: 0 where one of them never did. */
const FOLLOWED = sql`(select case when count(*) = 2 then min(seq) else 0 end as followed from outbox where name in ('all', 'webhooks'))`;

/** By numbers, which a batch that is refused leaves none of. */
export const findEventLag = (db: Database, now: number): Read<EventLag> =>
  read(
    db
      .select({
        waiting: sql<number>`coalesce((select max(seq) from events), 0) - followed`.as("waiting"),
        oldest: sql<string | null>`(select id from events not indexed where seq > followed order by seq limit 1)`.as(
          "oldest",
        ),
      })
      .from(FOLLOWED),
    ([row]) => ({
      waiting: Math.max(0, row?.waiting ?? 0),
      oldestAt: row?.oldest == null ? null : Math.min(instantOfId("evt", row.oldest) ?? now, now),
    }),
  );
