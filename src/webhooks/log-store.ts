// Store of the log of deliveries: one row for each delivery, from its first attempt on.
import { and, eq, getTableColumns, isNull, type SQL, sql } from "drizzle-orm";
import { ATTEMPTS_KEPT } from "../core/limits.ts";
import type { FoundRows } from "../core/page.ts";
import {
  type Database,
  mustChange,
  type PlainStatement,
  type Read,
  read,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { readRanged, selectBareColumns } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import {
  type Attempt,
  type DeliveryRow,
  webhookDeliveries as deliveries,
  type QueuedRow,
} from "../db/tables/webhooks.ts";
import { packAnswer } from "./post.ts";

/** The result of a claimed delivery's attempt. `nextAt`: null if it was the last one. */
export type Outcome = {
  readonly claimed: QueuedRow;
  readonly attempt: Attempt;
  readonly status: DeliveryRow["status"];
  readonly nextAt: number | null;
};

/** Whether the log of a delivery has room for one more attempt. If not, the oldest attempt is removed. */
const HAS_ROOM = sql`json_array_length(webhook_deliveries.attempts) < ${ATTEMPTS_KEPT}`;

/** Must run before the places are moved, because it writes only for places that are still as they were claimed. */
export const logOutcomes = (db: Database, outcomes: readonly Outcome[]): PlainStatement[] =>
  splitIntoParts(
    outcomes.map(({ claimed: one, attempt, status, nextAt }) => {
      const { stored, deflated } = packAnswer(attempt);
      const answer = deflated === null ? null : deflated.toString("hex");
      return [one.webhookId, one.nextAt, one.deliveryId, one.leaseUntil, status, nextAt, stored, answer];
    }),
  ).map((part) =>
    db
      .insert(deliveries)
      .select(
        sql`select q.webhook_id, q.delivery_id, q.event_id, q.event_type, r.value ->> 4, r.value ->> 5, json_array(json(r.value -> 6)), q.event_seq, unhex(r.value ->> 7)
          from ${part.rows} r cross join webhook_queue q on q.webhook_id = r.value ->> 0 and q.next_at = r.value ->> 1
            and q.delivery_id = r.value ->> 2 and q.lease_until = r.value ->> 3 where true`,
      )
      .onConflictDoUpdate({
        target: [deliveries.webhookId, deliveries.deliveryId],
        set: {
          status: sql`excluded.status`,
          nextAt: sql`excluded.next_at`,
          attempts: sql`json_insert(case when ${HAS_ROOM} then webhook_deliveries.attempts
            else json_remove(webhook_deliveries.attempts, '$[0]') end, '$[#]', json(excluded.attempts -> 0))`,
          answers: sql`cast(ifnull(substr(webhook_deliveries.answers, 1 + case when ${HAS_ROOM} then 0
            else ifnull(webhook_deliveries.attempts ->> '$[0].deflated', 0) end), '') || ifnull(excluded.answers, '') as blob)`,
        },
      }),
  );

export type DeliveryFilter = {
  readonly status?: DeliveryRow["status"] | undefined;
  readonly eventType?: string | undefined;
  readonly eventId?: string | undefined;
};

export type ListedDelivery = Omit<DeliveryRow, "eventSeq" | "webhookId">;

export const matchFilter = ({ eventType, eventId }: DeliveryFilter): SQL | undefined =>
  and(
    eventType === undefined ? undefined : sql`event_type = ${eventType}`,
    eventId === undefined ? undefined : sql`event_id = ${eventId}`,
  );

const LOG_FIELDS = {
  deliveryId: deliveries.deliveryId,
  eventId: deliveries.eventId,
  eventType: deliveries.eventType,
  status: deliveries.status,
  nextAt: deliveries.nextAt,
  attempts: deliveries.attempts,
  answers: deliveries.answers,
};
const loggedColumns = selectBareColumns(deliveries);
const listedColumns = Object.fromEntries(
  Object.keys(LOG_FIELDS).map((key) => [key, loggedColumns[key as keyof typeof LOG_FIELDS]]),
) as { [K in keyof typeof LOG_FIELDS]: (typeof loggedColumns)[K] };

export type DeliveryPage = { readonly limit: number; readonly after: string | null };

export function listTried(
  db: Database,
  webhookId: string,
  filter: DeliveryFilter,
  { limit, after }: DeliveryPage,
): Read<FoundRows<ListedDelivery>> {
  const below = after === null ? undefined : sql`delivery_id < ${after}`;
  const from = [sql`webhook_deliveries where ${and(sql`webhook_id = ${webhookId}`, below)}`];
  const ranges = { columns: LOG_FIELDS, from, order: sql`delivery_id desc` };
  const fits = and(filter.status === undefined ? undefined : sql`status = ${filter.status}`, matchFilter(filter));
  return readRanged(db, { ranges, shown: listedColumns, fits }, limit);
}

/** `hasEvent`: whether the event that it sends is still kept. */
export type TriedDelivery = DeliveryRow & { readonly hasEvent: boolean };

export const findTried = (db: Database, webhookId: string, deliveryId: string): Read<TriedDelivery | null> =>
  readOne(
    db
      .select({
        ...getTableColumns(deliveries),
        hasEvent: sql`exists (select 1 from events where seq = event_seq)`.mapWith(Boolean).as("has_event"),
      })
      .from(deliveries)
      .where(and(eq(deliveries.webhookId, webhookId), eq(deliveries.deliveryId, deliveryId))),
  );

/** Makes the delivery wait again. Fails (Conflict) if it changed since it was read. */
export const markPending = (db: Database, before: DeliveryRow, nextAt: number): Statement[] =>
  mustChange(
    db,
    db
      .update(deliveries)
      .set({ status: "pending", nextAt })
      .where(
        and(
          eq(deliveries.webhookId, before.webhookId),
          eq(deliveries.deliveryId, before.deliveryId),
          eq(deliveries.status, before.status),
          before.nextAt === null ? isNull(deliveries.nextAt) : eq(deliveries.nextAt, before.nextAt),
        ),
      ),
  );

// ---- Retention -----------------------------------------------------------------------------------------------------------

export const pruneLogged = (db: Database, webhookId: string, before: string, limit: number): Statement =>
  db.delete(deliveries).where(
    sql`(webhook_id, delivery_id) in (select webhook_id, delivery_id from webhook_deliveries
        where webhook_id = ${webhookId} and delivery_id < ${before} order by delivery_id limit ${limit})`,
  );

export const findOldLogged = (db: Database, before: string, after: string, limit: number): Read<SkipResult> =>
  readSkipped(
    db,
    skipEndpoints(sql`webhook_deliveries`, sql`case when min(delivery_id) < ${before} then 1 end`, after, limit),
  );

// ---- Endpoints with rows -------------------------------------------------------------------------------------------------

/** `oldest`: the least of the aggregates. `looked`: the last endpoint that was looked at; null after the last of all. */
export type SkipResult = { readonly ids: string[]; readonly oldest: number | null; readonly looked: string | null };

/**
 * At most `limit` endpoints after `after` in a table whose key begins with the endpoint's id, each with an aggregate of its rows, found without reading
 * all rows. Endpoints whose aggregate is null are skipped.
 */
export const skipEndpoints = (table: SQL, holds: SQL, after: string, limit: number) => ({
  limit,
  from: sql`(with recursive ids (id, n) as (
      select (select min(webhook_id) from ${table} where webhook_id > ${after}), 1
      union all
      select (select min(webhook_id) from ${table} where webhook_id > id), n + 1 from ids where id is not null and n < ${limit})
    select id, (select ${holds} from ${table} where webhook_id = id) as holds from ids where id is not null)`,
});

export const readSkipped = (db: Database, { from, limit }: ReturnType<typeof skipEndpoints>): Read<SkipResult> =>
  read(db.select({ id: sql<string>`id`, holds: sql<number | null>`holds` }).from(from), (rows) => ({
    ids: rows.flatMap(({ id, holds }) => (holds === null ? [] : [id])),
    oldest: rows.reduce<number | null>(
      (least, { holds }) => (holds === null ? least : Math.min(least ?? holds, holds)),
      null,
    ),
    looked: rows.length < limit ? null : (rows.at(-1)?.id ?? null),
  }));
