// Routes of a platform's events (EVT-18).
import { defineRoute } from "../http/route.ts";
import { getEvent, getEvents, precheckEvent } from "./event-read.ts";
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
    precheck: (call, { params }) => precheckEvent(call, params.event_id),
    status: 200,
    errors: ["not_found"],
    handle: (call, { params }) => getEvent(call, params.event_id),
  }),
];
