// Routes of a provider's escrow, for its platform (MKT-26, MKT-27, MKT-29), and of the reconciliation, for operators (MKT-28).
import { precheckAgent } from "../agents/read.ts";
import { route } from "../http/route.ts";
import { agentParams } from "../identity/schema.ts";
import { differenceList, differenceQuery } from "./difference-schema.ts";
import { getDifferences } from "./differences.ts";
import { getEscrow } from "./read.ts";
import { releaseEscrow } from "./release.ts";
import { escrowReport, releaseInput, releaseView } from "./schema.ts";
import { syncEscrow } from "./sync.ts";

export const vaultRoutes = [
  route({
    method: "get",
    path: "/v1/agents/{did}/escrow",
    operationId: "getAgentEscrow",
    tag: "Agents",
    summary: "Read an agent's escrow",
    description:
      "Of each network what counts, what the vault holds, the thresholds, and the ten newest movements of the vault. A consumer has none.",
    params: agentParams,
    status: 200,
    response: { schema: escrowReport, description: "The escrow as it was seen last." },
    errors: ["not_found"],
    surfaces: ["management"],
    handle: (call, { params }) => getEscrow(call, params.did),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
  route({
    method: "post",
    path: "/v1/agents/{did}/escrow/sync",
    operationId: "syncAgentEscrow",
    tag: "Agents",
    summary: "Read a provider's escrow from the chain",
    description: "At once. What has the network's confirmations is booked, as it would be within a minute.",
    params: agentParams,
    status: 200,
    response: { schema: escrowReport, description: "The escrow as the chain has it." },
    errors: ["not_found", "role_not_permitted", "chain_unavailable"],
    surfaces: ["management"],
    handle: (call, { params }) => syncEscrow(call, params.did),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
  route({
    method: "post",
    path: "/v1/agents/{did}/escrow/release",
    operationId: "releaseAgentEscrow",
    tag: "Agents",
    summary: "Release a provider's escrow to its wallet",
    description:
      "Sends what the vault holds above threshold and reserve to the operational wallet, all of it: `amount` is what is expected, and another " +
      "one is 409 `invalid_status` with `detail.releasable`. A provider that has taken its markets on the network away, with nothing open and " +
      "every dispute window closed, has threshold 0. Ten times in 24 hours of real time on each network. Waits for the chain up to 20 seconds; the rest happens in the background.",
    params: agentParams,
    body: releaseInput,
    status: 200,
    response: { schema: releaseView, description: "How far the release is." },
    errors: ["not_found", "role_not_permitted", "invalid_status", "escrow_constrained", "chain_unavailable"],
    idempotency: "plain",
    lock: ({ did }) => did,
    surfaces: ["management"],
    handle: (call, { params, body }) => releaseEscrow(call, params.did, body),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
  route({
    method: "get",
    path: "/v1/operator/reconciliation",
    operationId: "listDifferences",
    tag: "Operator",
    summary: "List differences between vaults and their ledgers",
    description:
      "Newest first: where a vault held less than its lines say. What came without an event is a deposit and no difference. Nothing repairs one.",
    surfaces: ["operator"],
    query: differenceQuery,
    status: 200,
    response: { schema: differenceList, description: "A page of differences." },
    errors: [],
    handle: (call, { query }) => getDifferences(call, query),
  }),
];
