// Route of the operators' own log (EVT-16).
import { route } from "../http/route.ts";
import { getOperatorLog } from "./operator-log-read.ts";
import { operatorEntryList, operatorLogQuery } from "./operator-log-schema.ts";

export const operatorLogRoutes = [
  route({
    method: "get",
    path: "/v1/operator/activity",
    operationId: "listOperatorActivity",
    surfaces: ["operator"],
    query: operatorLogQuery,
    status: 200,
    response: { schema: operatorEntryList },
    errors: [],
    handle: (call, { query }) => getOperatorLog(call, query),
  }),
];
