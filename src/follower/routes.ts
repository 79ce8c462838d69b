// Routes that look at the chain before they answer (PAY-23).
import { route } from "../http/route.ts";
import { precheckReading } from "../payments/read.ts";
import { intentParams } from "../payments/schema.ts";
import { cancelIntent } from "./cancel.ts";

export const followerRoutes = [
  route({
    method: "post",
    path: "/v1/payment-intents/{intent_id}/cancel",
    operationId: "cancelPaymentIntent",
    params: intentParams,
    status: 200,
    errors: ["not_found", "forbidden", "invalid_status", "chain_unavailable"],
    idempotency: "plain",
    surfaces: ["agent"],
    handle: (call, { params }) => cancelIntent(call, params.intent_id),
    precheck: (call, { params }) => precheckReading(call, params.intent_id),
  }),
];
