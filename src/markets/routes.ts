// Contract section 6, Market: the public listing.
import { createPublicRouter } from "../auth/public.ts";
import { marketList, marketQuery } from "./schema.ts";
import { getMarkets } from "./service.ts";

export const marketListingRoutes = createPublicRouter();

marketListingRoutes.route(
  {
    method: "get",
    path: "/v1/markets",
    operationId: "listMarkets",
    tag: "Markets",
    summary: "List markets",
    description: "Every jurisdiction and currency, with the networks, contracts and confirmations they settle with.",
    query: marketQuery,
    status: 200,
    response: { schema: marketList, description: "A page of markets, in the order of their codes." },
    errors: [],
    cors: true,
  },
  async (call, { query }) => getMarkets(call, query),
);
