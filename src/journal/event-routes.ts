// Routes of a platform's events (EVT-18).
import { defineRoute } from "../http/route.ts";
import { findNamedEvent, getEvent, getEvents } from "./event-read.ts";
import { eventParams, eventQuery } from "./event-schema.ts";

export const eventRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/events",
    operationId: "listEvents",
    surfaces: ["management"],
    query: eventQuery,
    status: 200,
    errors: ["cursor_expired"],
    handle: (call, { query }) => getEvents(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/events/{event_id}",
    operationId: "getEvent",
    surfaces: ["management"],
    params: eventParams,
    object: findNamedEvent,
    status: 200,
    errors: ["not_found"],
    handle: getEvent,
  }),
];
