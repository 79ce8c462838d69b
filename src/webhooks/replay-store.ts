// Store of the running replays, and of the events that they queue again.
import { and, eq, gt, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { type Database, mustChange, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { selectBareColumns } from "../db/pages.ts";
import { platforms } from "../db/tables/accounts.ts";
import { type EventRow, events } from "../db/tables/journal.ts";
import { type EndpointRow, type ReplayRow, webhookReplays as replays } from "../db/tables/webhooks.ts";

export const findReplay = (db: Database, webhookId: string): Read<ReplayRow | null> =>
  readOne(db.select().from(replays).where(eq(replays.webhookId, webhookId)));

/**
 * The due replays after `after`, in the order of their endpoints. If an account has used up its volume, its replay is due when the day of the mark
 * ends.
 */
export const findReplays = (db: Database, now: number, after: string, limit: number): Read<Due[]> => {
  const markedUntil = sql`coalesce(json_extract(${platforms.volumeMarks}, '$.' || ${replays.environment} || '.until'), 0)`;
  return readAll(
    db
      .select({ at: sql<number>`max(${replays.askedAt}, ${markedUntil})`.as("at"), id: replays.webhookId })
      .from(replays)
      .crossJoin(platforms)
      .where(
        and(gt(replays.webhookId, after), eq(platforms.platformId, replays.platformId), sql`${markedUntil} <= ${now}`),
      )
      .orderBy(replays.webhookId)
      .limit(limit),
  );
};

/** The number of the last event, 0 before the first. */
export const findLastNumber = (db: Database): Read<number> =>
  read(db.select({ seq: sql<number | null>`max(seq)`.as("seq") }).from(events), ([row]) => row?.seq ?? 0);

/** Widens a replay that already runs, so some events are queued twice. */
export const beginReplay = (
  db: Database,
  { webhookId, platformId, environment }: EndpointRow,
  { afterSeq, toSeq, askedAt }: Pick<ReplayRow, "afterSeq" | "toSeq" | "askedAt">,
): Statement =>
  db
    .insert(replays)
    .values({ webhookId, platformId, environment, afterSeq, toSeq, askedAt })
    .onConflictDoUpdate({
      target: replays.webhookId,
      set: { afterSeq: sql`min(after_seq, excluded.after_seq)`, toSeq: sql`max(to_seq, excluded.to_seq)`, askedAt },
    });

export const findReplayed = (
  db: Database,
  { platformId, environment, afterSeq, toSeq }: ReplayRow,
  limit: number,
): Read<EventRow[]> =>
  readAll(
    db.select(selectBareColumns(events)).from(
      sql`events indexed by events_by_tenant where listed = 1 and platform_id = ${platformId} and environment = ${environment}
          and seq > ${afterSeq} and seq <= ${toSeq} order by seq limit ${limit}`,
    ),
  );

/** The replay as it was read: only one of two concurrent runs counts, and neither if a replay was requested since. */
const isAsRead = ({ webhookId, afterSeq, toSeq, askedAt }: ReplayRow) =>
  and(
    eq(replays.webhookId, webhookId),
    eq(replays.afterSeq, afterSeq),
    eq(replays.toSeq, toSeq),
    eq(replays.askedAt, askedAt),
  );

export const moveReplay = (db: Database, replay: ReplayRow, to: number): Statement[] =>
  mustChange(db, db.update(replays).set({ afterSeq: to }).where(isAsRead(replay)));

export const endReplay = (db: Database, replay: ReplayRow): Statement[] =>
  mustChange(db, db.delete(replays).where(isAsRead(replay)));

/** For an endpoint that was deleted. */
export const deleteReplay = (db: Database, webhookId: string): Statement =>
  db.delete(replays).where(eq(replays.webhookId, webhookId));
