// Makes deliveries from new events (EVT-24): one for each endpoint that selects the event, committed with the outbox's mark, so that each is made
// once. The minute's job finds events whose notification was lost.
import type { Deps, Env } from "../context.ts";
import { createId } from "../core/ids.ts";
import { retryConflicts } from "../core/retry.ts";
import { commit, type Database, readBatch } from "../db/batch.ts";
import type { EventRow } from "../db/tables/journal.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";
import { toEventView, type ViewedEvent } from "../journal/event-read.ts";
import type { EventType } from "../journal/events.ts";
import { moveMark } from "../journal/log-store.ts";
import { type Counted, countVolumes } from "../journal/volume.ts";
import { findVolumes } from "../journal/volume-store.ts";
import { type NewDelivery, queueDeliveries } from "./queue-store.ts";
import { findOpeners, findReceivers, findUnfanned } from "./store.ts";

/** Events of one commit. They make 2,000 deliveries for an account with as many endpoints as it may have. */
const EVENTS_PER_COMMIT = 100;

/** Fans out all new events, or at most `slices` slices. A concurrent run may fan out some of them first. */
export async function fanOutEvents(deps: Deps, slices = Number.POSITIVE_INFINITY): Promise<void> {
  for (let slice = 0; slice < slices && (await fanOutSlice(deps)); slice++);
}

type NewEvents = { readonly mark: number; readonly fresh: readonly EventRow[] };

export const findFanOutSlice = ({ db }: Deps): Promise<NewEvents> => readBatch(db, findUnfanned(db, EVENTS_PER_COMMIT));

/** `found`: the slice as it was read. It is read again if another run was faster. Returns false if no events are left. */
export async function fanOutSlice(deps: Deps, found?: NewEvents): Promise<boolean> {
  const { db } = deps;
  let known = found;
  const made = await retryConflicts(async () => {
    const { mark, fresh } = known ?? (await findFanOutSlice(deps));
    known = undefined;
    const last = fresh.at(-1);
    if (last === undefined) return null;
    const openers = await findOpenerPlatforms(db, fresh);
    const { receivers, volumes } = await readBatch(db, {
      receivers: findReceivers(db, fresh),
      volumes: findVolumes(db, [...fresh.map(({ platformId }) => platformId), ...openers.values()]),
    });
    const { deliveries, counted } = makeDeliveries(fresh, receivers, openers, deps.clock.now());
    await commit(db, [
      ...moveMark(db, mark, last.seq, "webhooks"),
      ...queueDeliveries(db, deliveries),
      ...countVolumes(deps, volumes, counted),
    ]);
    return { deliveries, more: fresh.length === EVENTS_PER_COMMIT };
  });
  if (made === null) return false;
  await notifyDue(
    deps.env,
    made.deliveries.map(({ webhookId }) => webhookId),
  );
  return made.more;
}

type Openers = ReadonlyMap<string, string>;

/**
 * An intent that ends unpaid has cost its opener nothing, so its events count toward the opener's volume, and so do the deliveries to the opener's
 * own endpoints. Deliveries to the other account's endpoints count for neither account, so that neither can use up the other's volume.
 */
async function findOpenerPlatforms(db: Database, fresh: readonly EventRow[]): Promise<Openers> {
  const ids = fresh.filter(({ type }) => type === ENDED_UNPAID).map(({ object }) => String(object["intent_id"]));
  if (ids.length === 0) return new Map();
  const { openers } = await readBatch(db, { openers: findOpeners(db, ids) });
  return new Map(openers.map(({ intentId, platformId }) => [intentId, platformId]));
}
const ENDED_UNPAID: EventType = "intent.abandoned";

function makeDeliveries(fresh: readonly EventRow[], receivers: readonly EndpointRow[], openers: Openers, now: number) {
  const byOwner = Map.groupBy(receivers, ({ platformId, environment }) => `${platformId} ${environment}`);
  const deliveries: NewDelivery[] = [];
  const counted: Counted[] = [];
  for (const event of fresh) {
    const own = (byOwner.get(`${event.platformId} ${event.environment}`) ?? []).filter((endpoint) =>
      receivesEvent(endpoint, event),
    );
    const made = own.map((endpoint) => toNewDelivery(endpoint, event, now));
    deliveries.push(...made);
    const opener = event.type === ENDED_UNPAID ? openers.get(String(event.object["intent_id"])) : undefined;
    const isOpeners = opener === undefined || opener === event.platformId;
    const counts = countEvent(event, event.type === TEST_TYPE ? 1 : isOpeners ? made.length : 0);
    counted.push(opener === undefined ? counts : { ...counts, platformId: opener });
  }
  return { deliveries: orderDeliveryIds(deliveries), counted };
}

/** Ids of one instant are in no order, so this sorts them and assigns them to the deliveries in the order of their events. */
export function orderDeliveryIds(deliveries: readonly NewDelivery[]): NewDelivery[] {
  const ids = deliveries.map(({ deliveryId }) => deliveryId).sort();
  return deliveries.map((delivery, n) => ({ ...delivery, deliveryId: ids[n] ?? delivery.deliveryId }));
}

/** A test event is queued when it is made, and only for its endpoint. */
const TEST_TYPE: EventType = "webhook.test";

const receivesEvent = (endpoint: EndpointRow, event: EventRow): boolean =>
  event.seq > endpoint.eventsAfter && event.type !== TEST_TYPE && selectsType(endpoint, event.type);

function countEvent(event: EventRow, deliveries: number): Counted {
  const { platformId, environment } = event;
  return { platformId, environment, events: 1, deliveries, bytes: countBodyBytes(event) * (1 + deliveries) };
}

export const countBodyBytes = (event: ViewedEvent): number => new TextEncoder().encode(toBody(event)).length;

export const selectsType = ({ eventTypes }: Pick<EndpointRow, "eventTypes">, type: string): boolean =>
  eventTypes.includes("*") || eventTypes.includes(type);

export const toNewDelivery = (
  { webhookId }: Pick<EndpointRow, "webhookId">,
  event: ViewedEvent & { readonly seq?: number },
  now: number,
): NewDelivery => ({
  webhookId,
  nextAt: now,
  deliveryId: createId("dlv", now),
  eventSeq: event.seq ?? null,
  eventId: event.id,
  eventType: event.type,
});

/** The body of every attempt for every endpoint, with the same bytes each time, because only the event's row determines them. */
export const toBody = (event: ViewedEvent): string => JSON.stringify(toEventView(event));

// ---- Waking endpoints ----------------------------------------------------------------------------------------------------

const MESSAGES_PER_SEND = 100;

/** Tells the queue which endpoints have due deliveries. If a message is lost, the minute's job finds them. */
export async function notifyDue(
  { WEBHOOK_QUEUE }: Pick<Env, "WEBHOOK_QUEUE">,
  webhookIds: readonly string[],
): Promise<void> {
  const messages = [...new Set(webhookIds)].map((webhookId) => ({ body: { kind: "deliver", webhookId } as const }));
  try {
    for (let at = 0; at < messages.length; at += MESSAGES_PER_SEND)
      await WEBHOOK_QUEUE.sendBatch(messages.slice(at, at + MESSAGES_PER_SEND));
  } catch {
    // The queue is down.
  }
}

type Objects = Pick<Env, "WEBHOOKS">;

/** Wakes the object of an endpoint, which works in the background. */
export async function wakeEndpointOrThrow({ WEBHOOKS }: Objects, webhookId: string, afresh = false): Promise<void> {
  await WEBHOOKS.get(WEBHOOKS.idFromName(webhookId)).wake(webhookId, afresh);
}

/** If the object cannot be reached, the minute's job wakes it. */
export async function wakeEndpoint(objects: Objects, webhookId: string, afresh = false): Promise<void> {
  try {
    await wakeEndpointOrThrow(objects, webhookId, afresh);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "unknown";
    console.error(JSON.stringify({ event: "webhook_not_woken", webhook: webhookId, message }));
  }
}
