// Maps rows of endpoints and deliveries to views.
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { decodeIdInstant } from "../core/ids.ts";
import type { Attempt, EndpointRow } from "../db/tables/webhooks.ts";
import type { ListedDelivery } from "./log-store.ts";
import { unpackAnswers } from "./post.ts";
import type { DeliveryView, WebhookView } from "./responses.ts";
import type { NewWebhookView } from "./schema.ts";

type ViewedEndpoint = Omit<EndpointRow, "eventsAfter" | "replays">;

/** `now`: real time, by which a previous secret expires. */
export const toWebhookView = (row: ViewedEndpoint, now: number): WebhookView => ({
  webhook_id: row.webhookId,
  url: row.url,
  environment: row.environment,
  event_types: row.eventTypes as WebhookView["event_types"],
  description: row.description,
  status: row.status,
  disabled_cause: row.disabledCause,
  failing_since: toIsoOrNull(row.failingSince),
  previous_secret_expires_at: (row.previousUntil ?? 0) > now ? toIsoOrNull(row.previousUntil) : null,
  created_at: toIso(row.createdAt),
  updated_at: toIso(row.updatedAt),
});

export const toNewWebhookView = (row: ViewedEndpoint, now: number, secret: string): NewWebhookView => ({
  ...toWebhookView(row, now),
  secret,
});

/** A delivery that waits for a disabled endpoint has no next attempt. */
export const toDeliveryView = (
  { webhookId, status: endpointStatus }: Pick<EndpointRow, "webhookId" | "status">,
  { deliveryId, eventId, eventType, status, nextAt, ...logged }: ListedDelivery,
): DeliveryView => ({
  delivery_id: deliveryId,
  webhook_id: webhookId,
  event_id: eventId,
  event_type: eventType as DeliveryView["event_type"],
  status,
  attempts: unpackAnswers(logged).map(toAttemptView),
  next_attempt_at: endpointStatus === "enabled" ? toIsoOrNull(nextAt) : null,
  created_at: toIso(decodeIdInstant("dlv", deliveryId) ?? 0),
});

const toAttemptView = (attempt: Attempt): DeliveryView["attempts"][number] => ({
  attempted_at: toIso(attempt.at),
  status_code: attempt.status,
  duration_ms: attempt.ms,
  error: attempt.error as DeliveryView["attempts"][number]["error"],
  answer: attempt.answer,
});
