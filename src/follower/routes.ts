// Routes that look at the chain before they answer (PAY-23).
import { route } from "../http/route.ts";
import { precheckReading } from "../payments/read.ts";
import { intentParams, intentView } from "../payments/schema.ts";
import { cancelIntent } from "./cancel.ts";

export const followerRoutes = [
  route({
    method: "post",
    path: "/v1/payment-intents/{intent_id}/cancel",
    operationId: "cancelPaymentIntent",
    tag: "Payments",
    summary: "Cancel a payment intent",
    description:
      "By either party, while nobody has paid it: the chain is looked at first. The offer ends now. A payment that is mined within 30 seconds " +
      "counts, and the hold stands until a later chain was read. Of one that was paid, 409 `invalid_status` names the transaction in `detail`.",
    params: intentParams,
    status: 200,
    response: { schema: intentView, description: "The intent, ABANDONED." },
    errors: ["not_found", "forbidden", "invalid_status", "chain_unavailable"],
    idempotency: "plain",
    surfaces: ["agent"],
    handle: (call, { params }) => cancelIntent(call, params.intent_id),
    precheck: (call, { params }) => precheckReading(call, params.intent_id),
  }),
];
