// Route of the operator's view of the networks (CHN-32).
import { route } from "../http/route.ts";
import { getNetworks } from "./read.ts";
import { networkList, networkQuery } from "./schema.ts";

/** The one path that is answered while NETWORKS is refused. */
export const NETWORKS_PATH = "/v1/operator/networks";

export const networkRoutes = [
  route({
    method: "get",
    path: NETWORKS_PATH,
    operationId: "listNetworks",
    tag: "Operator",
    summary: "List the networks",
    description:
      "Each as configured, as its chain has it at this instant, and how far it is read. `faults` says in a sentence each what is not as it should " +
      "be. A node that does not answer is a fault; what it would have said is null. Where NETWORKS itself is refused, `configuration_fault` says why: " +
      "every other call is 500 then.",
    surfaces: ["operator"],
    query: networkQuery,
    status: 200,
    response: { schema: networkList, description: "A page of networks." },
    errors: [],
    handle: (call, { query }) => getNetworks(call, query),
  }),
];
