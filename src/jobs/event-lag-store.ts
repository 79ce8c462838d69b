// How far behind the events are: what no part of the service has followed up yet, and what no endpoint has got.
import { sql } from "drizzle-orm";
import { instantOfId } from "../core/ids.ts";
import { type Database, type Read, read } from "../db/batch.ts";
import { markOf } from "../journal/outbox-store.ts";

/** Counts end here. */
const COUNTED = 1_000;
/** Endpoints with waiting deliveries that are looked at. */
const LOOKED_AT = 1_000;

/** `oldestAt`: when the first of those events was written. */
export type EventLag = { readonly waiting: number; readonly oldestAt: number | null };

const BEHIND = sql`seq > min(${markOf("all")}, ${markOf("webhooks")})`;

export const findEventLag = (db: Database): Read<EventLag> =>
  read(
    db
      .select({
        waiting:
          sql<number>`(select count(*) from (select seq from events not indexed where ${BEHIND} limit ${COUNTED}))`.as(
            "waiting",
          ),
        oldest: sql<string | null>`(select id from events not indexed where ${BEHIND} order by seq limit 1)`.as(
          "oldest",
        ),
      })
      .from(sql`(select 1)`),
    ([row]) => ({
      waiting: row?.waiting ?? 0,
      // Its own instant may be of a sandbox's clock.
      oldestAt: row?.oldest == null ? null : instantOfId("evt", row.oldest),
    }),
  );

/** Since when the longest due delivery of an enabled endpoint waits; of each endpoint its first place is looked at. */
export const findLongestDue = (db: Database, now: number): Read<number | null> =>
  read(
    db
      .select({ at: sql<number | null>`min(due)`.as("at") })
      .from(
        sql`(with recursive ids (id, n) as (
            select (select min(webhook_id) from webhook_queue), 1
            union all
            select (select min(webhook_id) from webhook_queue where webhook_id > id), n + 1 from ids where id is not null and n < ${LOOKED_AT})
          select (select min(next_at) from webhook_queue where webhook_id = id) as due from ids
          where id is not null and (select status from webhook_endpoints where webhook_id = id) = 'enabled')`,
      )
      .where(sql`due <= ${now}`),
    ([row]) => row?.at ?? null,
  );
