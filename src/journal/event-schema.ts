// Wire schemas of events (EVT-1).
import * as z from "zod";
import { decodeIdInstant } from "../core/ids.ts";
import { buildStartSchema, pageQuery } from "../http/schemas.ts";
import { EVENT_TYPES } from "./events.ts";

const since = buildStartSchema("the id of an event", (text) =>
  decodeIdInstant("evt", text) === null ? null : { id: text },
);

export const eventType = z.enum(EVENT_TYPES).register(z.globalRegistry, { id: "EventType" });

export const eventQuery = z.strictObject({
  ...pageQuery,
  type: eventType.optional(),
  subject: z.string().min(1).max(100).optional(),
  since: since.optional(),
});
export type EventQuery = z.infer<typeof eventQuery>;

export const eventParams = z.object({ event_id: z.string() });
