// Makes deliveries of new events (EVT-24): one for each endpoint that selects the event, committed with the mark, and so once. What a lost
// notification or a crash leaves is found by the minute's job.
import type { Deps } from "../context.ts";
import { newId } from "../core/ids.ts";
import { retryConflicts } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { EventRow } from "../db/tables/journal.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { toEventView, type ViewedEvent } from "../journal/event-views.ts";
import { moveMark } from "../journal/outbox-store.ts";
import { findFresh, findReceivers } from "./fan-out-store.ts";
import { nudge } from "./nudge.ts";
import { type NewDelivery, queueDeliveries } from "./queue-store.ts";

export const FANNED_OUT = 100;
/** Of one commit: an event of an account with many endpoints is as many deliveries. */
const CHARS_MAX = 1_000_000;
const DELIVERIES_MAX = 2_000;

/** Fans out all new events, or so many slices of them; what another run is faster with, that fans out. */
export async function fanOutEvents(deps: Deps, slices = Number.POSITIVE_INFINITY): Promise<void> {
  for (let slice = 0; slice < slices && (await fanOutSlice(deps)); slice++);
}

type Fresh = { readonly mark: number; readonly fresh: readonly EventRow[] };

/** The next new events, and the mark behind which they come. */
export const findSlice = ({ db }: Deps): Promise<Fresh> => readBatch(db, findFresh(db, FANNED_OUT));

/** `found`: as it was read; read anew where another run was faster. Returns false where nothing is left. */
export async function fanOutSlice(deps: Deps, found?: Fresh): Promise<boolean> {
  const { db } = deps;
  let known = found;
  const made = await retryConflicts(async () => {
    const { mark, fresh } = known ?? (await findSlice(deps));
    known = undefined;
    if (fresh.length === 0) return null;
    const { receivers } = await readBatch(db, { receivers: findReceivers(db, fresh) });
    const { deliveries, last } = deliveriesOf(fresh, receivers, deps.clock.now());
    if (last === null) return null;
    await commit(db, [...moveMark(db, mark, last.seq, "webhooks"), ...queueDeliveries(db, deliveries)]);
    return { deliveries, more: last.seq < (fresh.at(-1)?.seq ?? 0) || fresh.length === FANNED_OUT };
  });
  if (made === null) return false;
  await nudge(
    deps.env,
    made.deliveries.map(({ webhookId }) => webhookId),
  );
  return made.more;
}

/** Of the first events: as many as one commit holds, and the last of these events. */
function deliveriesOf(fresh: readonly EventRow[], receivers: readonly EndpointRow[], now: number) {
  const byOwner = Map.groupBy(receivers, ({ platformId, environment }) => `${platformId} ${environment}`);
  const deliveries: NewDelivery[] = [];
  let [chars, last] = [0, null as EventRow | null];
  for (const event of fresh) {
    const own = (byOwner.get(`${event.platformId} ${event.environment}`) ?? []).filter((endpoint) =>
      receives(endpoint, event),
    );
    const made = own.map((endpoint) => newDelivery(endpoint, event, now));
    chars += made.reduce((sum, { body }) => sum + body.length, 0);
    if (last !== null && (chars > CHARS_MAX || deliveries.length + made.length > DELIVERIES_MAX)) break;
    deliveries.push(...made);
    last = event;
  }
  return { deliveries: inOrder(deliveries), last };
}

/** Ids of one instant are in no order: they are given to the deliveries in the order of their events. */
export function inOrder(deliveries: readonly NewDelivery[]): NewDelivery[] {
  const ids = deliveries.map(({ deliveryId }) => deliveryId).sort();
  return deliveries.map((delivery, n) => ({ ...delivery, deliveryId: ids[n] ?? delivery.deliveryId }));
}

/** A test event is queued for its endpoint as it is made, and for nobody else. */
const receives = (endpoint: EndpointRow, event: EventRow): boolean =>
  event.seq > endpoint.eventsAfter && event.type !== "webhook.test" && selects(endpoint, event.type);

export const selects = ({ eventTypes }: Pick<EndpointRow, "eventTypes">, type: string): boolean =>
  eventTypes.includes("*") || eventTypes.includes(type);

/** `now`: real time. The bytes of the body are those of every attempt. */
export const newDelivery = (
  { webhookId }: Pick<EndpointRow, "webhookId">,
  event: ViewedEvent,
  now: number,
): NewDelivery => ({
  webhookId,
  nextAt: now,
  deliveryId: newId("dlv", now),
  eventId: event.id,
  eventType: event.type,
  body: JSON.stringify(toEventView(event)),
});
