// Wire schemas of events (EVT-1).
import * as z from "zod";
import { instantOfId } from "../core/ids.ts";
import { pageQuery, placeOrInstant } from "../http/schemas.ts";
import { EVENT_TYPES } from "./events.ts";

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
