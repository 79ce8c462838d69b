// Routes of a provider's escrow, for its platform (MKT-26, MKT-27, MKT-29), and of the reconciliation, for operators (MKT-28).
import { findNamedAgent } from "../agents/read.ts";
import { defineRoute } from "../http/route.ts";
import { agentParams } from "../identity/schema.ts";
import { getDifferences, getEscrow, syncEscrow } from "./read.ts";
import { releaseEscrow } from "./release.ts";
import { differenceQuery, releaseInput } from "./schema.ts";

export const vaultRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/escrow",
    operationId: "getAgentEscrow",
    params: agentParams,
    status: 200,
    errors: ["not_found"],
    surfaces: ["management"],
    object: findNamedAgent,
    handle: (call, { params }) => getEscrow(call, params.did),
  }),
  defineRoute({
    method: "post",
    path: "/v1/agents/{did}/escrow/sync",
    operationId: "syncAgentEscrow",
    params: agentParams,
    status: 200,
    errors: ["not_found", "role_not_permitted", "chain_unavailable"],
    surfaces: ["management"],
    object: findNamedAgent,
    handle: (call, { params }) => syncEscrow(call, params.did),
  }),
  defineRoute({
    method: "post",
    path: "/v1/agents/{did}/escrow/release",
    operationId: "releaseAgentEscrow",
    params: agentParams,
    body: releaseInput,
    status: 200,
    errors: ["not_found", "role_not_permitted", "invalid_status", "escrow_constrained", "chain_unavailable"],
    idempotency: "plain",
    lock: ({ did }) => did,
    surfaces: ["management"],
    object: findNamedAgent,
    handle: (call, { params, body }) => releaseEscrow(call, params.did, body),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/reconciliation",
    operationId: "listDifferences",
    surfaces: ["operator"],
    query: differenceQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getDifferences(call, query),
  }),
];
