// Reads a platform's events (EVT-18).
import { askedPage, type ManagementCall, type Precheck, precheckKnown } from "../call.ts";
import { fieldError, ServiceError, validationError } from "../core/errors.ts";
import { listingOf, type Page, toPage } from "../core/page.ts";
import { type EventFilter, findEvent, findNumber, listEvents } from "./event-log-store.ts";
import type { EventQuery } from "./event-schema.ts";
import { firstListed, mayBeOlder, toEventView } from "./event-views.ts";
import type { EventView } from "./responses.ts";

export async function getEvents(call: ManagementCall, query: EventQuery): Promise<Page<EventView>> {
  const { db, tenant, environment, deps } = call;
  const { type, subject, since } = query;
  const filter: EventFilter = { type, subject, since };
  const page = await askedPage(call, query, listingOf("events", [environment], filter));
  // Retention counts in real time, whatever a sandbox clock says.
  const first = firstListed(deps.clock.now());
  const after = page.after?.id ?? null;
  const place = after ?? (since && "id" in since ? since.id : null);
  const { found, at } = await call.read({
    found: listEvents(db, tenant, filter, { limit: page.limit, after, first }),
    ...(place !== null && { at: findNumber(db, tenant, place, first) }),
  });
  if (place !== null && at === null) {
    if (after !== null || mayBeOlder(place, first, call.now - deps.clock.now()))
      throw new ServiceError("cursor_expired");
    throw validationError([fieldError("since", "not_found")]);
  }
  return toPage(found.rows, page, ({ id }) => ({ at: 0, id }), toEventView, found.end);
}

const findShown = ({ db, tenant, deps }: ManagementCall, id: string) =>
  findEvent(db, tenant, id, firstListed(deps.clock.now()));

/** Answers 404 for an event of another platform or environment before any fault of the query. */
export const precheckEvent = (call: ManagementCall, id: string): Precheck => precheckKnown(findShown(call, id));

export async function getEvent(call: ManagementCall, id: string): Promise<EventView> {
  const { event } = await call.read({ event: findShown(call, id) });
  if (!event) throw new ServiceError("not_found");
  return toEventView(event);
}
