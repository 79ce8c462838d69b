// Events on the wire (EVT-1).
import * as z from "zod";
import { environment, instant, jsonObject, listOf } from "../http/schemas.ts";

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
