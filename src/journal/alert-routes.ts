// Routes of the operator's alerts (JOB-10).
import { defineRoute } from "../http/route.ts";
import { acknowledgeAlert, findNamedAlert, getAlerts } from "./alert-read.ts";
import { alertParams, alertQuery } from "./alert-schema.ts";

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
