// Wire schemas of webhook endpoints and their deliveries (EVT-22, EVT-29).
import * as z from "zod";
import { decodeIdInstant } from "../core/ids.ts";
import {
  ROTATION_GRACE_HOURS_MAX,
  WEBHOOK_DESCRIPTION_MAX_CHARS,
  WEBHOOK_GRACE_HOURS_DEFAULT,
} from "../core/limits.ts";
import { DELIVERY_STATUSES, DISABLED_CAUSES, WEBHOOK_STATUSES } from "../core/vocabulary.ts";
import {
  buildFixedFieldRule,
  buildStartSchema,
  buildTextSchema,
  environment,
  instant,
  pageQuery,
  registeredUrl,
} from "../http/schemas.ts";
import { EVENT_TYPES } from "../journal/events.ts";
import { eventType } from "../journal/schema.ts";

const webhookStatus = z.enum(WEBHOOK_STATUSES).register(z.globalRegistry, { id: "WebhookState" });
const eventSelection = z
  .array(z.enum(["*", ...EVENT_TYPES]).register(z.globalRegistry, { id: "SelectedEventType" }))
  .min(1)
  .max(EVENT_TYPES.length)
  .register(z.globalRegistry, { id: "EventSelection" });

const description = buildTextSchema(WEBHOOK_DESCRIPTION_MAX_CHARS)
  .nullable()
  .register(z.globalRegistry, { id: "WebhookDescription" });

const webhookUrl = z.string().min(1).register(z.globalRegistry, { id: "WebhookUrl", format: "uri" });

const PATCHABLE_FIELDS = {
  url: webhookUrl,
  event_types: eventSelection,
  description,
};

export const webhookInput = z
  .strictObject({ ...PATCHABLE_FIELDS, description: PATCHABLE_FIELDS.description.optional() })
  .register(z.globalRegistry, { id: "WebhookInput" });
export type WebhookInput = z.infer<typeof webhookInput>;

export const webhookPatch = z
  .strictObject({ ...PATCHABLE_FIELDS, status: webhookStatus })
  .partial()
  .register(z.globalRegistry, { id: "WebhookPatch" });
export type WebhookPatch = z.infer<typeof webhookPatch>;

/** Rejects fields that are fixed at creation, and fields that only the service sets. */
export const webhookPatchRules = buildFixedFieldRule(() => newWebhookView, {
  ...PATCHABLE_FIELDS,
  status: webhookStatus,
});

export const WEBHOOK_FIELDS = {
  webhook_id: z.string(),
  url: registeredUrl,
  environment,
  event_types: eventSelection,
  description: z.string().nullable(),
  status: webhookStatus,
  disabled_cause: z.enum(DISABLED_CAUSES).register(z.globalRegistry, { id: "DisabledCause" }).nullable(),
  failing_since: instant.nullable(),
  previous_secret_expires_at: instant.nullable(),
  created_at: instant,
  updated_at: instant,
};

export const newWebhookView = z
  .object({ ...WEBHOOK_FIELDS, secret: z.string() })
  .register(z.globalRegistry, { id: "WebhookWithSecret" });
export type NewWebhookView = z.infer<typeof newWebhookView>;
export const webhookQuery = z.strictObject(pageQuery);
export type WebhookQuery = z.infer<typeof webhookQuery>;
export const webhookParams = z.object({ webhook_id: z.string() });

export const secretRotation = z
  .strictObject({
    grace_hours: z.number().int().min(0).max(ROTATION_GRACE_HOURS_MAX).default(WEBHOOK_GRACE_HOURS_DEFAULT),
  })
  .register(z.globalRegistry, { id: "SecretRotation" });
export type SecretRotation = z.infer<typeof secretRotation>;

export const deliveryStatus = z.enum(DELIVERY_STATUSES).register(z.globalRegistry, { id: "DeliveryState" });
export const deliveryQuery = z.strictObject({
  ...pageQuery,
  status: deliveryStatus.optional(),
  event_type: eventType.optional(),
  event_id: z.string().min(1).max(100).optional(),
});
export type DeliveryQuery = z.infer<typeof deliveryQuery>;
export const deliveryParams = z.object({ webhook_id: z.string(), delivery_id: z.string() });

export const replayInput = z
  .strictObject({
    since: buildStartSchema("the id of an event", (id) => (decodeIdInstant("evt", id) === null ? null : { id })),
  })
  .register(z.globalRegistry, { id: "ReplayInput" });
export type ReplayInput = z.infer<typeof replayInput>;
