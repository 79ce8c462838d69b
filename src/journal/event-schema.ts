// Events on the wire (EVT-1).
import * as z from "zod";
import { firstId, instantOfId } from "../core/ids.ts";
import { environment, instant, instantInput, jsonObject, listOf, pageQuery } from "../http/schemas.ts";
import { EVENT_TYPES } from "./events.ts";

export const eventView = z
  .object({
    id: z.string(),
    type: z.string(),
    occurred_at: instant,
    environment,
    api_version: z.literal("v1"),
    data: z.object({ object: jsonObject }).register(z.globalRegistry, { id: "EventData" }),
  })
  .register(z.globalRegistry, { id: "Event" });
export type EventView = z.infer<typeof eventView>;

export const eventList = listOf(eventView).register(z.globalRegistry, { id: "EventList" });

/** The id of an event, or an instant. */
const since = z
  .string()
  .max(100, { abort: true })
  .transform((text, context) => {
    if (instantOfId("evt", text) !== null) return { id: text };
    const at = instantInput.safeParse(text);
    if (at.success) return { at: at.data, firstId: firstId("evt", at.data + 1) };
    const message =
      "Must be the id of an event, or an instant of ISO 8601: with Z, or an offset whose plus sign is written as %2B.";
    context.addIssue({ code: "custom", params: { code: "invalid_format" }, message });
    return z.NEVER;
  });

export const eventQuery = z.strictObject({
  ...pageQuery,
  type: z.enum(EVENT_TYPES).register(z.globalRegistry, { id: "EventType" }).optional(),
  subject: z.string().min(1).max(100).optional(),
  since: since.optional(),
});
export type EventQuery = z.infer<typeof eventQuery>;

export const eventParams = z.object({ event_id: z.string() });
