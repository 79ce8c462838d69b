// Routes that look at the chain before they answer (PAY-23).
import { defineRoute } from "../http/route.ts";
import { precheckIntentReading } from "../payments/read.ts";
import { intentParams } from "../payments/schema.ts";
import { cancelUnpaidIntent } from "./cancel.ts";

export const followerRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/payment-intents/{intent_id}/cancel",
    operationId: "cancelPaymentIntent",
    params: intentParams,
    status: 200,
    errors: ["not_found", "forbidden", "invalid_status", "chain_unavailable"],
    idempotency: "plain",
    surfaces: ["agent"],
    handle: (call, { params }) => cancelUnpaidIntent(call, params.intent_id),
    precheck: (call, { params }) => precheckIntentReading(call, params.intent_id),
  }),
];
