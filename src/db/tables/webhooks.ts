// Tables of webhooks: endpoints, waiting deliveries and attempts.
import { blob, index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { DeliveryStatus, DisabledCause, Environment, WebhookStatus } from "../../core/vocabulary.ts";

export const webhookEndpoints = sqliteTable(
  "webhook_endpoints",
  {
    webhookId: text().primaryKey(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    url: text().notNull(),
    eventTypes: text({ mode: "json" }).$type<string[]>().notNull(),
    description: text(),
    status: text().$type<WebhookStatus>().notNull(),
    disabledCause: text().$type<DisabledCause>(),
    /** Sealed, like the secret before it (src/webhooks/secrets.ts). */
    secret: text().notNull(),
    sealKey: text().notNull(),
    previousSecret: text(),
    previousUntil: integer(),
    failingSince: integer(),
    /** The number of the last event before the endpoint was made: it gets later events. */
    eventsAfter: integer().notNull(),
    /** When replays were requested in the last 24 hours; null before the first. */
    replays: text({ mode: "json" }).$type<readonly number[]>(),
    createdAt: integer().notNull(),
    updatedAt: integer().notNull(),
  },
  (t) => [
    index("webhook_endpoints_by_owner").on(t.platformId, t.environment, t.webhookId),
    index("webhook_endpoints_by_key").on(t.sealKey, t.webhookId),
  ],
);
export type EndpointRow = typeof webhookEndpoints.$inferSelect;

export type Attempt = {
  readonly at: number;
  readonly status: number | null;
  readonly ms: number;
  readonly error: string | null;
  readonly answer: string | null;
};
/**
 * An attempt in the log of a delivery (src/webhooks/post.ts). `deflated`: how many bytes of the row's `answers` are its answer. `packed`: the
 * deflated answer itself in base64, as earlier versions stored it.
 */
export type StoredAttempt =
  | Attempt
  | (Omit<Attempt, "answer"> & ({ readonly deflated: number } | { readonly packed: string }));

/**
 * Deliveries that wait for their next attempt, without the event's body, which only the event holds. A row is written with the mark of the events,
 * and removed with the last attempt.
 */
export const webhookQueue = sqliteTable(
  "webhook_queue",
  {
    webhookId: text().notNull(),
    /** For a first attempt: the instant in the id. */
    nextAt: integer().notNull(),
    deliveryId: text().notNull(),
    eventSeq: integer().notNull(),
    eventId: text().notNull(),
    eventType: text().notNull(),
    tries: integer().notNull(),
    logged: integer({ mode: "boolean" }).notNull(),
    /** The end of the lease; 0 if it is not leased. */
    leaseUntil: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.webhookId, t.nextAt, t.deliveryId] })],
);
export type QueuedRow = typeof webhookQueue.$inferSelect;

export const webhookDeliveries = sqliteTable(
  "webhook_deliveries",
  {
    webhookId: text().notNull(),
    deliveryId: text().notNull(),
    eventId: text().notNull(),
    eventType: text().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    nextAt: integer(),
    attempts: text({ mode: "json" }).$type<StoredAttempt[]>().notNull(),
    eventSeq: integer().notNull(),
    /** The deflated answers of the attempts, in their order. */
    answers: blob({ mode: "buffer" }),
  },
  (t) => [primaryKey({ columns: [t.webhookId, t.deliveryId] })],
);
export type DeliveryRow = typeof webhookDeliveries.$inferSelect;
