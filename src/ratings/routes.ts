// Public routes of ratings and their method (TSK-16, TSK-17).
import { answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { ratingMethods } from "./method.ts";
import { ratedParams } from "./schema.ts";
import { describeMethod, getRating } from "./signals.ts";

const METHOD_HEADERS = { "Content-Type": "application/json", "Cache-Control": "public, max-age=3600" };

export const ratingRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/rating",
    operationId: "getAgentRating",
    params: ratedParams,
    status: 200,
    errors: ["not_found"],
    cors: true,
    surfaces: ["public"],
    handle: (call, { params }) => getRating(call, params.did),
  }),
  defineRoute({
    method: "get",
    path: "/v1/rating-method",
    operationId: "getRatingMethod",
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: async (call) => answer(200, METHOD_HEADERS, JSON.stringify(describeMethod(ratingMethods(call.deps.env)))),
  }),
];
