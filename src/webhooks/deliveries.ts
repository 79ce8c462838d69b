// Lists an endpoint's deliveries, newest first, and sends one again (EVT-29), or a test event to show that the endpoint works (EVT-30).
import { type ManagementCall, type Precheck, precheck, readPage } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { decodeIdInstant } from "../core/ids.ts";
import { DAY_MS, DELIVERY_RETENTION_DAYS, MINUTE_MS, SECOND_MS } from "../core/limits.ts";
import { type FoundRows, hashListing, type Page, toPage } from "../core/page.ts";
import type { Statement } from "../db/batch.ts";
import type { EndpointRow, QueuedRow } from "../db/tables/webhooks.ts";
import { toEventRow } from "../journal/events.ts";
import { insertEvent } from "../journal/log-store.ts";
import { readRealTime, requireEnabled } from "./endpoints.ts";
import { toNewDelivery, wakeEndpoint } from "./fan-out.ts";
import { findTried, type ListedDelivery, listTried, markPending, type TriedDelivery } from "./log-store.ts";
import {
  bringForward,
  findQueuePlace,
  findUntried,
  listUntried,
  queueDeliveries,
  requeueEnded,
} from "./queue-store.ts";
import type { DeliveryView } from "./responses.ts";
import type { DeliveryQuery } from "./schema.ts";
import { toDeliveryView, toWebhookView } from "./views.ts";

/** Deliveries from before this instant are no longer shown. */
export const computeOldestShown = (now: number): number => now - DELIVERY_RETENTION_DAYS * DAY_MS;

export async function getDeliveries(
  call: ManagementCall<EndpointRow>,
  webhookId: string,
  query: DeliveryQuery,
): Promise<Page<DeliveryView>> {
  const { db, environment } = call;
  const { status, event_type: eventType, event_id: eventId } = query;
  const filter = { status, eventType, eventId };
  const listing = hashListing("deliveries", [environment, webhookId], filter);
  const asked = await readPage(call, query, listing);
  const page = { limit: asked.limit, after: asked.after?.id ?? null };
  const now = readRealTime(call);
  const {
    object: own,
    tried,
    untried,
  } = await call.read({
    tried: listTried(db, webhookId, filter, page),
    // The clocks of two isolates differ a little.
    untried: listUntried(db, webhookId, filter, { ...page, by: now + MINUTE_MS }),
  });
  if (page.after !== null && (decodeIdInstant("dlv", page.after) ?? 0) < computeOldestShown(now))
    throw new ServiceError("cursor_expired");
  const { rows, end } = mergeListed(
    tried,
    status === undefined || status === "pending" ? untried : NO_DELIVERIES,
    page.limit,
  );
  const shown = rows.filter(({ deliveryId }) => (decodeIdInstant("dlv", deliveryId) ?? 0) >= computeOldestShown(now));
  return toPage(
    { rows: shown, end },
    asked,
    ({ deliveryId: id }) => ({ at: 0, id }),
    (row) => toDeliveryView(own, row),
  );
}

const NO_DELIVERIES: FoundRows<ListedDelivery> = { rows: [], end: null };

/**
 * Merges the two lists. If a scan ended before the page was full, the page ends there too: rows of the other list after that point are not next in
 * order.
 */
function mergeListed(
  one: FoundRows<ListedDelivery>,
  other: FoundRows<ListedDelivery>,
  limit: number,
): FoundRows<ListedDelivery> {
  const full = ({ rows }: FoundRows<ListedDelivery>) => rows.length > limit;
  const ends = [one, other].flatMap((list) => (list.end !== null && !full(list) ? [list.end] : []));
  const newestEnd = ends.reduce<ListedDelivery | null>(
    (newest, end) => (newest === null || end.deliveryId > newest.deliveryId ? end : newest),
    null,
  );
  const rows = [...one.rows, ...other.rows]
    .filter(({ deliveryId }) => newestEnd === null || deliveryId >= newestEnd.deliveryId)
    .sort((a, b) => (a.deliveryId < b.deliveryId ? 1 : -1));
  return { rows: rows.slice(0, limit + 1), end: newestEnd };
}

// ---- Redelivery ----------------------------------------------------------------------------------------------------------

type Delivery = { readonly tried: TriedDelivery | null; readonly untried: QueuedRow | null };

const buildDeliveryReads = ({ db }: ManagementCall, webhookId: string, deliveryId: string) => ({
  tried: findTried(db, webhookId, deliveryId),
  untried: findUntried(db, webhookId, deliveryId),
});

function requireDelivery({ tried, untried }: Delivery, deliveryId: string, now: number): void {
  const isKept = (decodeIdInstant("dlv", deliveryId) ?? 0) >= computeOldestShown(now);
  if (!isKept || (tried === null && untried === null)) throw new ServiceError("not_found");
}

/** Answers 404 for an unknown delivery before any fault of the request. */
export const precheckDelivery = (call: ManagementCall, webhookId: string, deliveryId: string): Precheck =>
  precheck(buildDeliveryReads(call, webhookId, deliveryId), (delivery) => {
    requireDelivery(delivery, deliveryId, readRealTime(call));
    return [];
  });

const EVENT_GONE = "The event of this delivery is older than 30 days, and is no longer kept.";

/** Sends the same bytes with the same event id. A delivery that waits becomes due at once; one that is leased or was never tried stays as it is. */
export async function redeliver(
  call: ManagementCall<EndpointRow>,
  webhookId: string,
  deliveryId: string,
): Promise<DeliveryView> {
  const now = readRealTime(call);
  const {
    object: own,
    place,
    ...delivery
  } = await call.read({
    ...buildDeliveryReads(call, webhookId, deliveryId),
    place: findQueuePlace(call.db, webhookId, deliveryId),
  });
  requireDelivery(delivery, deliveryId, now);
  requireEnabled(own);
  const { tried } = delivery;
  // It is leased or due already: the first of several concurrent calls has brought it forward.
  const isDue = place !== null && (place.leaseUntil > now || place.nextAt <= now + SECOND_MS);
  if (tried !== null && !isDue && !tried.hasEvent) throw new ServiceError("not_found", { message: EVENT_GONE });
  const statements = tried === null || isDue ? [] : queueTriedAgain(call, tried, now);
  const view = toDeliveryView(own, toRequeued(delivery, isDue, now));
  await call.commit(statements, view);
  call.background(wakeEndpoint(call.deps.env, webhookId, true));
  return view;
}

function toRequeued({ tried, untried }: Delivery, isDue: boolean, now: number): ListedDelivery {
  if (tried !== null) return isDue ? tried : { ...tried, status: "pending", nextAt: now };
  if (untried !== null) return { ...untried, status: "pending", attempts: [], answers: null };
  throw new ServiceError("not_found");
}

const queueTriedAgain = ({ db }: ManagementCall, tried: TriedDelivery, now: number): Statement[] => [
  ...markPending(db, tried, now),
  ...(tried.nextAt === null
    ? [requeueEnded(db, tried, now)]
    : bringForward(db, { ...tried, nextAt: tried.nextAt }, now)),
];

// ---- The test event (EVT-30) ---------------------------------------------------------------------------------------------

export async function sendTestEvent(call: ManagementCall<EndpointRow>): Promise<DeliveryView> {
  const { db, deps } = call;
  const { object: own } = await call.read({});
  requireEnabled(own);
  const now = readRealTime(call);
  const event = toEventRow(own, call.now, { type: "webhook.test", object: toWebhookView(own, now) });
  const delivery = toNewDelivery(own, event, now);
  const view = toDeliveryView(own, { ...delivery, status: "pending", attempts: [], answers: null });
  await call.commit([insertEvent(db, event), ...queueDeliveries(db, [delivery])], view);
  call.background(wakeEndpoint(deps.env, own.webhookId, true));
  return view;
}
