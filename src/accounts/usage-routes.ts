// The route of an account's usage (EVT-36).
import { defineRoute } from "../http/route.ts";
import { accountParams } from "./document-schema.ts";
import { findNamedUsage, getUsage } from "./usage.ts";

export const usageRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/platforms/{platform_id}/usage",
    operationId: "getPlatformUsage",
    surfaces: ["operator"],
    params: accountParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedUsage,
    handle: (call, { params }) => getUsage(call, params.platform_id),
  }),
];
