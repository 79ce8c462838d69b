// Reads a platform's events (EVT-18).
import { type ManagementCall, readPage } from "../call.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import type { EventRow } from "../db/tables/journal.ts";
import { type EventFilter, findEvent, findEventNumber, listEvents } from "./event-log-store.ts";
import type { EventQuery } from "./event-schema.ts";
import { computeOldestListed, mayBeOlder, toEventView } from "./event-views.ts";
import type { EventView } from "./responses.ts";

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

export const findNamedEvent = ({ db, tenant, deps }: ManagementCall, { event_id }: { event_id: string }) =>
  findEvent(db, tenant, event_id, computeOldestListed(deps.clock.now()));

export const getEvent = async (call: ManagementCall<EventRow>): Promise<EventView> =>
  toEventView((await call.read({})).object);
