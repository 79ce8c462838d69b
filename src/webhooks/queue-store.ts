// Store of the queue of deliveries that wait for their next attempt. A delivery that succeeds at once writes four rows: its place, its lease, its
// removal, and its row in the log (docs/performance.md).
import { and, eq, getTableColumns, sql } from "drizzle-orm";
import { computeFirstId, decodeIdInstant } from "../core/ids.ts";
import type { FoundRows } from "../core/page.ts";
import {
  type Database,
  mustChange,
  type PlainStatement,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { fitsOrEndsScan, IS_SCAN_END, selectScan, toFoundRows } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import { events } from "../db/tables/journal.ts";
import { type DeliveryRow, type QueuedRow, webhookQueue as queue } from "../db/tables/webhooks.ts";
import type { ViewedEvent } from "../journal/event-read.ts";
import {
  type DeliveryFilter,
  type DeliveryPage,
  type ListedDelivery,
  matchFilter,
  readSkipped,
  type SkipResult,
  skipEndpoints,
} from "./log-store.ts";
import { isEnabled } from "./store.ts";

// ---- Queueing ------------------------------------------------------------------------------------------------------------

/** A delivery that was never tried: its place is the instant of its id. `eventSeq`: null for the event that the same batch writes. */
export type NewDelivery = Pick<QueuedRow, "webhookId" | "nextAt" | "deliveryId" | "eventId" | "eventType"> & {
  readonly eventSeq: number | null;
};

export const queueDeliveries = (db: Database, each: readonly NewDelivery[]): Statement[] =>
  splitIntoParts(
    each.map((one) => [one.webhookId, one.nextAt, one.deliveryId, one.eventSeq, one.eventId, one.eventType]),
  ).map(({ rows }) =>
    db.insert(queue).select(
      sql`select value ->> 0, value ->> 1, value ->> 2, coalesce(value ->> 3, (select max(seq) from ${events})), value ->> 4, value ->> 5, 0, 0, 0
          from ${rows}`,
    ),
  );

/** The event of a row; null once it is deleted. */
const EVENT =
  sql`(select json_array(id, type, occurred_at, environment, json(object), json(previous)) from events where seq = event_seq)`
    .mapWith((text: string): ViewedEvent => {
      const [id, type, occurredAt, environment, object, previous] = JSON.parse(text);
      return { id, type, occurredAt, environment, object, previous };
    })
    .as("event");

export type SentRow = QueuedRow & { readonly event: ViewedEvent | null };
const SENT = { ...getTableColumns(queue), event: EVENT };

// ---- Claiming ------------------------------------------------------------------------------------------------------------

/**
 * Leases up to `limit` due deliveries until `until`, oldest first; each goes to one caller only. The statement finds the last of them and then
 * updates all up to it, because a list of places would be read twice.
 */
export const claimDue = (
  db: Database,
  webhookId: string,
  { now, until, limit }: { readonly now: number; readonly until: number; readonly limit: number },
): Read<SentRow[]> => {
  const free = sql`webhook_id = ${webhookId} and lease_until <= ${now}`;
  const last = sql`select * from (select next_at, delivery_id from webhook_queue where ${free} and next_at <= ${now}
    order by next_at, delivery_id limit 1 offset ${limit - 1}) union all select ${now}, '~' limit 1`;
  return readAll(
    db
      .update(queue)
      .set({ leaseUntil: until })
      .where(sql`${free} and (next_at, delivery_id) <= (${last}) and ${isEnabled(webhookId)}`)
      .returning(SENT),
  );
};

export const findUnleased = (
  db: Database,
  webhookId: string,
  { now, limit, after }: { readonly now: number; readonly limit: number; readonly after: Place | undefined },
): Read<SentRow[]> =>
  readAll(
    db
      .select(SENT)
      .from(queue)
      .where(
        and(
          sql`webhook_id = ${webhookId} and lease_until <= ${now} and next_at <= ${now}`,
          after && sql`(next_at, delivery_id) > (${after.nextAt}, ${after.deliveryId})`,
        ),
      )
      .orderBy(sql`next_at, delivery_id`)
      .limit(limit),
  );

/** Leases a delivery that was found before, with a third of the reads of `claimDue`. False if another caller leased it, or it has moved. */
export const claimFound = (db: Database, found: Place, now: number, until: number): Read<boolean> => ({
  statement: db
    .update(queue)
    .set({ leaseUntil: until })
    .where(and(isAtPlace(found), sql`lease_until <= ${now}`)),
  map: ({ meta }: D1Result) => meta.changes > 0,
});

export const releaseLease = (db: Database, held: LeasedPlace): Statement =>
  db
    .update(queue)
    .set({ leaseUntil: 0 })
    .where(and(isAtPlace(held), eq(queue.leaseUntil, held.leaseUntil)));

const PLACES_SEARCHED = 20;

/** When the next delivery of an endpoint may be claimed; null if none waits. Later places are read only if the first one is leased. */
export const findNextAt = (db: Database, webhookId: string): Read<number | null> => {
  const own = sql`from webhook_queue where webhook_id = ${webhookId}`;
  const first = sql`(select max(next_at, lease_until) ${own} order by next_at limit 1)`;
  const earlier = sql`select next_at, lease_until ${own} and next_at < ${first} order by next_at limit ${PLACES_SEARCHED}`;
  return read(
    db
      .select({
        at: sql<
          number | null
        >`min(${first}, coalesce((select min(max(next_at, lease_until)) from (${earlier})), ${first}))`.as("at"),
      })
      .from(sql`(select 1)`),
    ([row]) => row?.at ?? null,
  );
};

// ---- After an attempt ----------------------------------------------------------------------------------------------------

/** A place as it was claimed. Nothing of it is changed if another caller has claimed it since. */
export type LeasedPlace = Pick<QueuedRow, "webhookId" | "nextAt" | "deliveryId" | "leaseUntil">;

/** Ends a delivery after its last attempt. One statement each, because a list of places would be read twice. */
export const deleteQueued = (db: Database, held: LeasedPlace): PlainStatement =>
  db.delete(queue).where(and(isAtPlace(held), eq(queue.leaseUntil, held.leaseUntil)));

export const postponeQueued = (db: Database, held: LeasedPlace, nextAt: number): PlainStatement =>
  db
    .update(queue)
    .set({ nextAt, tries: sql`${queue.tries} + 1`, logged: true, leaseUntil: 0 })
    .where(and(isAtPlace(held), eq(queue.leaseUntil, held.leaseUntil)));

type Place = Pick<QueuedRow, "webhookId" | "nextAt" | "deliveryId">;
const isAtPlace = ({ webhookId, nextAt, deliveryId }: Place) =>
  and(eq(queue.webhookId, webhookId), eq(queue.nextAt, nextAt), eq(queue.deliveryId, deliveryId));

// ---- Once more -----------------------------------------------------------------------------------------------------------

export const requeueEnded = (db: Database, ended: Omit<DeliveryRow, "nextAt">, now: number): Statement => {
  const { webhookId, deliveryId, eventSeq, eventId, eventType } = ended;
  const none = { tries: 0, logged: true, leaseUntil: 0 };
  return db.insert(queue).values({ webhookId, nextAt: now, deliveryId, eventSeq, eventId, eventType, ...none });
};

/** Fails (Conflict) if the delivery is leased. */
export const bringForward = (db: Database, place: Place, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(queue)
      .set({ nextAt: now })
      .where(and(isAtPlace(place), sql`lease_until <= ${now}`)),
  );

// ---- Reading -------------------------------------------------------------------------------------------------------------

const UNTRIED_FIELDS = {
  deliveryId: queue.deliveryId,
  eventId: queue.eventId,
  eventType: queue.eventType,
  nextAt: queue.nextAt,
  logged: queue.logged,
};

/** Deliveries that were never tried, newest first: their places are the instants of their ids. */
export function listUntried(
  db: Database,
  webhookId: string,
  filter: DeliveryFilter,
  { limit, after, by }: DeliveryPage & { readonly by: number },
): Read<FoundRows<ListedDelivery>> {
  const place = after === null ? sql`(${by}, '~')` : sql`(${decodeIdInstant("dlv", after) ?? 0}, ${after})`;
  const from = [sql`webhook_queue where webhook_id = ${webhookId} and (next_at, delivery_id) < ${place}`];
  const source = selectScan({ columns: UNTRIED_FIELDS, from, order: sql`next_at desc, delivery_id desc` });
  return read(
    db
      .select({
        deliveryId: sql<string>`delivery_id`,
        eventId: sql<string>`event_id`,
        eventType: sql<string>`event_type`,
        status: sql<"pending">`'pending'`.as("status"),
        nextAt: sql<number>`next_at`,
        logged: sql<number>`logged`,
        attempts: sql<ListedDelivery["attempts"]>`'[]'`.mapWith(JSON.parse).as("attempts"),
        answers: sql<null>`null`.as("answers"),
        beyond: IS_SCAN_END,
      })
      .from(source)
      .where(fitsOrEndsScan(and(sql`logged = 0`, matchFilter(filter)) ?? sql`true`))
      .limit(limit + 1),
    (rows: Untried[]) => {
      const { rows: shown, end } = toFoundRows(rows);
      return { rows: shown, end: end && { ...end, deliveryId: computeNextListPlace(end, after) } };
    },
  );
}

type Untried = ListedDelivery & { readonly beyond: number; readonly logged: number; readonly nextAt: number };

/** Where the list continues after the row that ended a scan. The id of a tried delivery has another instant than its place. */
function computeNextListPlace({ deliveryId, logged, nextAt }: Untried, after: string | null): string {
  if (logged === 0) return deliveryId;
  const place = computeFirstId("dlv", nextAt + 1);
  // The next page must not start where this one did.
  return after !== null && place >= after ? computeFirstId("dlv", nextAt) : place;
}

/** The place of a delivery that was tried and waits again. */
export const findQueuePlace = (db: Database, webhookId: string, deliveryId: string): Read<QueuedRow | null> =>
  readOne(
    db
      .select()
      .from(queue)
      .where(
        sql`webhook_id = ${webhookId} and delivery_id = ${deliveryId} and next_at =
          (select l.next_at from webhook_deliveries l where l.webhook_id = ${webhookId} and l.delivery_id = ${deliveryId})`,
      ),
  );

export const findUntried = (db: Database, webhookId: string, deliveryId: string): Read<QueuedRow | null> =>
  readOne(
    db
      .select()
      .from(queue)
      .where(isAtPlace({ webhookId, deliveryId, nextAt: decodeIdInstant("dlv", deliveryId) ?? -1 })),
  );

// ---- Sweeping ------------------------------------------------------------------------------------------------------------

/** Endpoints after `after` that have due deliveries and are enabled or deleted. A failing one counts as due now. */
export const findWaiting = (db: Database, now: number, after: string, limit: number): Read<SkipResult> =>
  readSkipped(
    db,
    skipEndpoints(
      sql`webhook_queue`,
      sql`case when min(next_at) <= ${now} then case (
        select case when status <> 'enabled' then 'disabled' when failing_since is not null then 'failing' end
          from webhook_endpoints e where e.webhook_id = id)
        when 'disabled' then null when 'failing' then ${now} else min(next_at) end end`,
      after,
      limit,
    ),
  );

export const deleteQueuedOfEndpoint = (db: Database, webhookId: string, limit: number): Read<number> =>
  read(
    db
      .delete(queue)
      .where(
        sql`(webhook_id, next_at, delivery_id) in (select webhook_id, next_at, delivery_id from webhook_queue where webhook_id = ${webhookId} limit ${limit})`,
      )
      .returning({ deliveryId: queue.deliveryId }),
    (rows) => rows.length,
  );

/** Deletes deliveries that are too old to be shown: they wait for an endpoint that has been disabled for long. */
export const pruneQueued = (db: Database, webhookId: string, before: number, limit: number): Statement =>
  db.delete(queue).where(
    sql`(webhook_id, next_at, delivery_id) in (select webhook_id, next_at, delivery_id from webhook_queue
        where webhook_id = ${webhookId} and next_at < ${before} order by next_at limit ${limit})`,
  );

export const findOldQueued = (db: Database, before: number, after: string, limit: number): Read<SkipResult> =>
  readSkipped(db, skipEndpoints(sql`webhook_queue`, sql`case when min(next_at) < ${before} then 1 end`, after, limit));
