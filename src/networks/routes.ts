// Route of the operator's view of the networks (CHN-32).
import { route } from "../http/route.ts";
import { getNetworks } from "./read.ts";
import { networkList, networkQuery } from "./schema.ts";

export const networkRoutes = [
  route({
    method: "get",
    path: "/v1/operator/networks",
    operationId: "listNetworks",
    tag: "Operator",
    summary: "List the networks",
    description:
      "Each as configured, as its chain has it at this instant, and how far it is read. `faults` says in a sentence each what is not as it should " +
      "be. A node that does not answer is a fault; what it would have said is null.",
    surfaces: ["operator"],
    query: networkQuery,
    status: 200,
    response: { schema: networkList, description: "A page of networks." },
    errors: [],
    handle: (call, { query }) => getNetworks(call, query),
  }),
];
