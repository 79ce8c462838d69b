// Routes of payment intents, and of the form for AEA/P clients (PAY-1, PAY-17, PAY-18).
import type { ErrorCode } from "../core/errors.ts";
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { agentParams } from "../identity/schema.ts";
import { evaluateOrder, precheckEvaluation } from "./evaluate.ts";
import { createIntent, getPaymentAddress, mapAddressRefusal, precheckIntent } from "./open.ts";
import { getIntent, getIntents, precheckIntentReading } from "./read.ts";
import { addressQuery, evaluationInput, findPayerFaults, intentInput, intentParams, intentQuery } from "./schema.ts";

const REFUSALS: readonly ErrorCode[] = [
  "forbidden",
  "environment_mismatch",
  "agent_not_active",
  "escrow_constrained",
  "role_not_permitted",
  "market_not_authorized",
  "spend_policy_violation",
  "invalid_status",
  "chain_unavailable",
];

export const paymentRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/payment-intents",
    operationId: "createPaymentIntent",
    body: intentInput,
    rules: findPayerFaults,
    status: 201,
    errors: REFUSALS,
    idempotency: "plain",
    surfaces: ["agent"],
    handle: (call, { body }) => createIntent(call, body),
    precheck: (call, { body }) => precheckIntent(call, pickValidFields(intentInput, body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/payment-intents",
    operationId: "listPaymentIntents",
    query: intentQuery,
    status: 200,
    errors: [],
    surfaces: ["agent"],
    handle: (call, { query }) => getIntents(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/payment-intents/{intent_id}",
    operationId: "getPaymentIntent",
    params: intentParams,
    status: 200,
    errors: ["not_found", "forbidden"],
    surfaces: ["agent"],
    handle: (call, { params }) => getIntent(call, params.intent_id),
    precheck: (call, { params }) => precheckIntentReading(call, params.intent_id),
  }),
  defineRoute({
    method: "post",
    path: "/v1/agents/{did}/spend-policy/evaluate",
    neverBusy: true,
    operationId: "evaluateSpendPolicy",
    params: agentParams,
    body: evaluationInput,
    status: 200,
    errors: ["not_found", "forbidden"],
    surfaces: ["agent", "management"],
    whenUsedUp: true,
    handle: (call, { params, body }) => evaluateOrder(call, params.did, body),
    precheck: (call, { params, body }) => precheckEvaluation(call, params.did, pickValidFields(evaluationInput, body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/payment-address",
    operationId: "getPaymentAddress",
    query: addressQuery,
    effects: true,
    status: 200,
    errors: ["spend_policy_violation"],
    surfaces: ["agent"],
    handle: (call, { query }) => getPaymentAddress(call, query),
    mapRefusal: mapAddressRefusal,
  }),
];
