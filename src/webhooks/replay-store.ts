// Store of the running replays, and of the events that they queue again.
import { and, eq, gt, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, type PlainStatement, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { selectBareColumns } from "../db/pages.ts";
import { platforms } from "../db/tables/accounts.ts";
import { type EventRow, events } from "../db/tables/journal.ts";
import { type Walk, walks } from "../db/tables/walks.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { beginWalk, deleteWalks, RESTARTED_AT, WALK_KEY } from "../jobs/walk-store.ts";

/**
 * The due replays after `after`, in the order of their endpoints. If an account has used up its volume, its replay is due when the day of the mark
 * ends.
 */
export const findReplays = (db: Database, now: number, after: string, limit: number): Read<Due[]> => {
  const markedUntil = sql`coalesce(json_extract(${platforms.volumeMarks}, '$.' || (payload ->> 'environment') || '.until'), 0)`;
  return readAll(
    db
      .select({ at: sql<number>`max(${walks.startedAt}, ${markedUntil})`.as("at"), id: walks.subject })
      .from(walks)
      .crossJoin(platforms)
      .where(
        and(
          eq(walks.kind, "replay"),
          gt(walks.subject, after),
          sql`${platforms.platformId} = payload ->> 'platformId' and ${markedUntil} <= ${now}`,
        ),
      )
      .orderBy(walks.subject)
      .limit(limit),
  );
};

/** The number of the last event, 0 before the first. */
export const findLastNumber = (db: Database): Read<number> =>
  read(db.select({ seq: sql<number | null>`max(seq)`.as("seq") }).from(events), ([row]) => row?.seq ?? 0);

type NumberRange = { readonly after: number; readonly upTo: number; readonly startedAt: number };

/** Widens a replay that already runs, so some events are queued twice. */
export function beginReplay(
  db: Database,
  { webhookId, platformId, environment }: EndpointRow,
  { after, upTo, startedAt }: NumberRange,
): Statement {
  const payload = { platformId, environment, toSeq: upTo };
  return beginWalk(db, "replay", webhookId, { startedAt, after: { at: after, id: "" }, payload }).onConflictDoUpdate({
    target: WALK_KEY,
    set: {
      startedAt: RESTARTED_AT,
      afterAt: sql`min(after_at, excluded.after_at)`,
      payload: sql`case when payload ->> 'toSeq' > ${upTo} then payload else excluded.payload end`,
    },
  });
}

export const findReplayed = (
  db: Database,
  { platformId, environment }: EndpointRow,
  { afterAt, payload }: Walk<"replay">,
  limit: number,
): Read<EventRow[]> =>
  readAll(
    db.select(selectBareColumns(events)).from(
      sql`events indexed by events_by_tenant where listed = 1 and platform_id = ${platformId} and environment = ${environment}
          and seq > ${afterAt} and seq <= ${payload.toSeq} order by seq limit ${limit}`,
    ),
  );

/** For an endpoint that was deleted. */
export const deleteReplay = (db: Database, webhookId: string): PlainStatement =>
  deleteWalks(db, "replay", eq(walks.subject, webhookId));
