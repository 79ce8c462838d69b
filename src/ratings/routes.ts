// Contract section 6, Rating: the method is public, so that a counterparty can judge what a rating means.
import { createPublicRouter } from "../auth/public.ts";
import { answer } from "../http/responses.ts";
import { ratingMethodView } from "./schema.ts";
import { ratingMethod } from "./service.ts";

export const ratingRoutes = createPublicRouter();

ratingRoutes.route(
  {
    method: "get",
    path: "/v1/rating-method",
    operationId: "getRatingMethod",
    tag: "Ratings",
    summary: "How ratings are computed",
    description: "The parameters and the formula of `agent_rating`.",
    status: 200,
    response: { schema: ratingMethodView, description: "The method." },
    errors: [],
    cors: true,
  },
  async (call) => answer(200, METHOD_HEADERS, JSON.stringify(ratingMethod(call.deps.config.rating))),
);

const METHOD_HEADERS = { "Content-Type": "application/json", "Cache-Control": "public, max-age=3600" };
