// Route of the operator's view of the networks (CHN-32).
import { defineRoute } from "../http/route.ts";
import { getNetworks } from "./read.ts";
import { networkQuery } from "./schema.ts";

/** The only path that is answered while NETWORKS is refused. */
export const NETWORKS_PATH = "/v1/operator/networks";

export const networkRoutes = [
  defineRoute({
    method: "get",
    path: NETWORKS_PATH,
    operationId: "listNetworks",
    surfaces: ["operator"],
    query: networkQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getNetworks(call, query),
  }),
];
