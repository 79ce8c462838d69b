// The route of an agent's promotion (AGT-34).
import { findNamedOwnAgent } from "../agents/read.ts";
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { agentParams } from "../identity/schema.ts";
import { precheckAgentPromotion, promoteAgent } from "./promote.ts";
import { promotionInput } from "./schema.ts";

export const promotionRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/agents/{did}/environment",
    operationId: "promoteAgent",
    params: agentParams,
    body: promotionInput,
    status: 200,
    errors: [
      "not_found",
      "environment_mismatch",
      "not_accredited",
      "production_locked",
      "invalid_status",
      "external_ref_exists",
      "market_not_authorized",
      "escrow_below_threshold",
      "chain_unavailable",
    ],
    idempotency: "plain",
    unpromoted: true,
    lock: ({ did }) => did,
    surfaces: ["management"],
    object: findNamedOwnAgent,
    handle: (call, { params, body }) => promoteAgent(call, params.did, body),
    precheck: (call, { body }) => precheckAgentPromotion(call, pickValidFields(promotionInput, body)),
  }),
];
