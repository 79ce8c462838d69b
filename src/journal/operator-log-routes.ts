// Route of the operators' own log (EVT-16).
import { defineRoute } from "../http/route.ts";
import { getOperatorLog } from "./operator-log-read.ts";
import { operatorLogQuery } from "./operator-log-schema.ts";

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
