// Routes of the activity log (EVT-13 to EVT-15), of events (EVT-18), of the operator's alerts (JOB-10) and of the operators' own log (EVT-16).
import { answerCsv, type CsvColumn, prefersCsv } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { getHeads, verifyActivity } from "./activity-heads.ts";
import { exportActivity, getActivity } from "./activity-read.ts";
import { acknowledgeAlert, findNamedAlert, getAlerts } from "./alerts.ts";
import { findNamedEvent, getEvent, getEvents } from "./event-read.ts";
import { getOperatorLog } from "./operator-log.ts";
import type { ActivityEntry } from "./responses.ts";
import {
  activityHeadQuery,
  activityQuery,
  alertParams,
  alertQuery,
  eventParams,
  eventQuery,
  operatorLogQuery,
  verifyQuery,
} from "./schema.ts";

const ACTIVITY_COLUMNS: readonly CsvColumn<ActivityEntry>[] = [
  ["id", ({ id }) => id],
  ["seq", ({ seq }) => seq],
  ["occurred_at", ({ occurred_at }) => occurred_at],
  ["environment", ({ environment }) => environment],
  ["action", ({ action }) => action],
  ["actor_type", ({ actor }) => actor.type],
  ["actor", ({ actor }) => actor.id],
  ["subject_type", ({ subject }) => subject.type],
  ["subject_id", ({ subject }) => subject.id],
  ["changes", ({ changes }) => (changes === undefined ? null : JSON.stringify(changes))],
];

export const activityRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/platform/activity",
    operationId: "listActivity",
    surfaces: ["management"],
    query: activityQuery,
    status: 200,
    errors: [],
    headers: ["accept"],
    handle: async (call, { query, headers }) =>
      prefersCsv(headers["accept"])
        ? answerCsv("activity", ACTIVITY_COLUMNS, await exportActivity(call, query))
        : getActivity(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/activity/heads",
    operationId: "listActivityHeads",
    surfaces: ["management"],
    query: activityHeadQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getHeads(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/activity/verify",
    operationId: "verifyActivity",
    surfaces: ["management"],
    query: verifyQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => verifyActivity(call, query),
  }),
];

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

export const alertRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/alerts",
    operationId: "listAlerts",
    surfaces: ["operator"],
    query: alertQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getAlerts(call, query),
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/alerts/{alert_id}/acknowledge",
    operationId: "acknowledgeAlert",
    surfaces: ["operator"],
    params: alertParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedAlert,
    handle: acknowledgeAlert,
  }),
];

export const operatorLogRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/activity",
    operationId: "listOperatorActivity",
    surfaces: ["operator"],
    query: operatorLogQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getOperatorLog(call, query),
  }),
];
