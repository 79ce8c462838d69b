// Reads a platform's events (EVT-18).
import { type ManagementCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { decodeIdInstant } from "../core/ids.ts";
import { DAY_MS, EVENT_RETENTION_DAYS } from "../core/limits.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { EventRow } from "../db/tables/journal.ts";
import { type EventFilter, findEvent, findEventNumber, listEvents } from "./event-log-store.ts";
import type { EventView } from "./responses.ts";
import type { EventQuery } from "./schema.ts";

export async function getEvents(call: ManagementCall, query: EventQuery): Promise<Page<EventView>> {
  const { db, tenant, environment, deps } = call;
  const { type, subject, since } = query;
  const filter: EventFilter = { type, subject, since };
  const page = await readPage(call, query, hashListing("events", [environment], filter));
  // Retention counts in real time, whatever a sandbox clock says.
  const first = computeOldestListed(deps.clock.now());
  const after = page.after?.id ?? null;
  const place = after ?? (since && "id" in since ? since.id : null);
  const { found, at } = await call.read({
    found: listEvents(db, tenant, filter, { limit: page.limit, after, first }),
    ...(place !== null && { at: findEventNumber(db, tenant, place, first) }),
  });
  if (place !== null && at === null) {
    if (after !== null || mayBeOlder(place, first, call.now - deps.clock.now()))
      throw new ServiceError("cursor_expired");
    throw toValidationError([toFieldError("since", "not_found")]);
  }
  return toPage(found, page, ({ id }) => ({ at: 0, id }), toEventView);
}

/** Whether an event with this id may have been written before the instant `first`. `aheadMs`: how far the clock that dated it may have been ahead. */
export const mayBeOlder = (id: string, first: number, aheadMs: number): boolean =>
  (decodeIdInstant("evt", id) ?? first + aheadMs) - aheadMs < first;

/** Events from before this instant are no longer listed (EVT-17). */
export const computeOldestListed = (now: number): number => now - EVENT_RETENTION_DAYS * DAY_MS;

export const findNamedEvent = ({ db, tenant, deps }: ManagementCall, { event_id }: { event_id: string }) =>
  findEvent(db, tenant, event_id, computeOldestListed(deps.clock.now()));

export const getEvent = async (call: ManagementCall<EventRow>): Promise<EventView> =>
  toEventView((await call.read({})).object);

export type ViewedEvent = Pick<EventRow, "id" | "type" | "occurredAt" | "environment" | "object" | "previous">;

export const toEventView = ({ id, type, occurredAt, environment, object, previous }: ViewedEvent): EventView => ({
  id,
  type,
  occurred_at: toIso(occurredAt),
  environment,
  api_version: "v1",
  data: { object, ...(previous && { previous }) },
});
