// Responses about webhook endpoints and their deliveries.
import * as z from "zod";
import { buildListSchema } from "../http/response-parts.ts";
import { instant } from "../http/schemas.ts";
import { eventType } from "../journal/schema.ts";
import { ATTEMPT_ERRORS } from "./post.ts";
import { deliveryStatus, WEBHOOK_FIELDS } from "./schema.ts";

export const webhookView = z.object(WEBHOOK_FIELDS).register(z.globalRegistry, { id: "Webhook" });
export type WebhookView = z.infer<typeof webhookView>;

export const webhookList = buildListSchema(webhookView).register(z.globalRegistry, { id: "WebhookList" });

// ---- Deliveries ----------------------------------------------------------------------------------------------------------

const attemptView = z
  .object({
    attempted_at: instant,
    status_code: z.number().int().nullable(),
    duration_ms: z.number().int().nonnegative(),
    error: z.enum(ATTEMPT_ERRORS).register(z.globalRegistry, { id: "AttemptError" }).nullable(),
    answer: z.string().nullable(),
  })
  .register(z.globalRegistry, { id: "DeliveryAttempt" });

export const deliveryView = z
  .object({
    delivery_id: z.string(),
    webhook_id: z.string(),
    event_id: z.string(),
    event_type: eventType,
    status: deliveryStatus,
    attempts: z.array(attemptView),
    next_attempt_at: instant.nullable(),
    created_at: instant,
  })
  .register(z.globalRegistry, { id: "Delivery" });
export type DeliveryView = z.infer<typeof deliveryView>;

export const deliveryList = buildListSchema(deliveryView).register(z.globalRegistry, { id: "DeliveryList" });

export const replayView = z
  .object({ webhook_id: z.string(), since: z.string(), asked_at: instant })
  .register(z.globalRegistry, { id: "Replay" });
export type ReplayView = z.infer<typeof replayView>;
