// Events on the wire (EVT-1).
import * as z from "zod";
import { instantOfId } from "../core/ids.ts";
import { environment, instant, jsonObject, listOf, pageQuery, placeOrInstant } from "../http/schemas.ts";
import { EVENT_TYPES } from "./events.ts";

export const eventView = z
  .object({
    id: z.string(),
    type: z.string(),
    occurred_at: instant,
    environment,
    api_version: z.literal("v1"),
    data: z
      .object({ object: jsonObject, previous: jsonObject.optional() })
      .register(z.globalRegistry, { id: "EventData" }),
  })
  .register(z.globalRegistry, { id: "Event" });
export type EventView = z.infer<typeof eventView>;

export const eventList = listOf(eventView).register(z.globalRegistry, { id: "EventList" });

/** The id of an event, or an instant. */
const since = placeOrInstant("the id of an event", (text) => (instantOfId("evt", text) === null ? null : { id: text }));

export const eventType = z.enum(EVENT_TYPES).register(z.globalRegistry, { id: "EventType" });

export const eventQuery = z.strictObject({
  ...pageQuery,
  type: eventType.optional(),
  subject: z.string().min(1).max(100).optional(),
  since: since.optional(),
});
export type EventQuery = z.infer<typeof eventQuery>;

export const eventParams = z.object({ event_id: z.string() });
