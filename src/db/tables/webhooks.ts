// Tables of webhooks: endpoints, what waits for its delivery, what was tried, and replays that run.
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
    /** Sealed (src/webhooks/secrets.ts). */
    secret: text().notNull(),
    /** The name of the key under which it is sealed. */
    sealKey: text().notNull(),
    /** The one before it, sealed, while it counts. */
    previousSecret: text(),
    previousUntil: integer(),
    /** The first failure since the last success; null while it answers. */
    failingSince: integer(),
    /** The number of the last event before it was made: it gets those behind. */
    eventsAfter: integer().notNull(),
    /** When replays were asked for in the last 24 hours; null before the first. */
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
 * An attempt, as it stands in the log of a delivery (src/webhooks/answers.ts). `deflated`: how many bytes of the row's `answers` are its answer.
 * `packed`: the deflated answer itself in base64, as earlier versions stored it.
 */
export type StoredAttempt =
  | Attempt
  | (Omit<Attempt, "answer"> & ({ readonly deflated: number } | { readonly packed: string }));

/**
 * What waits for its next attempt, without the event's body, which stands in the event alone. A row is written with the mark of the events, and
 * removed with the last attempt.
 */
export const webhookQueue = sqliteTable(
  "webhook_queue",
  {
    webhookId: text().notNull(),
    /** Of a first attempt: the instant in the id. */
    nextAt: integer().notNull(),
    deliveryId: text().notNull(),
    /** The event's number. */
    eventSeq: integer().notNull(),
    eventId: text().notNull(),
    eventType: text().notNull(),
    /** Failed attempts of this schedule. */
    tries: integer().notNull(),
    /** Whether the log has a row of it. */
    logged: integer({ mode: "boolean" }).notNull(),
    /** Until when it is in somebody's hands; 0 where it is in nobody's. */
    leaseUntil: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.webhookId, t.nextAt, t.deliveryId] })],
);
export type QueuedRow = typeof webhookQueue.$inferSelect;

/** The log of attempts, one row a delivery, from its first attempt on. Names its event, as the queue does. */
export const webhookDeliveries = sqliteTable(
  "webhook_deliveries",
  {
    webhookId: text().notNull(),
    deliveryId: text().notNull(),
    eventId: text().notNull(),
    eventType: text().notNull(),
    status: text().$type<DeliveryStatus>().notNull(),
    /** The place in the queue; null where it waits no more. */
    nextAt: integer(),
    attempts: text({ mode: "json" }).$type<StoredAttempt[]>().notNull(),
    eventSeq: integer().notNull(),
    /** The deflated answers of the attempts, in their order. */
    answers: blob({ mode: "buffer" }),
  },
  (t) => [primaryKey({ columns: [t.webhookId, t.deliveryId] })],
);
export type DeliveryRow = typeof webhookDeliveries.$inferSelect;

/** A replay that runs: the events behind one number up to another are queued once more, slice by slice. */
export const webhookReplays = sqliteTable("webhook_replays", {
  webhookId: text().primaryKey(),
  platformId: text().notNull(),
  environment: text().$type<Environment>().notNull(),
  afterSeq: integer().notNull(),
  toSeq: integer().notNull(),
  askedAt: integer().notNull(),
});
export type ReplayRow = typeof webhookReplays.$inferSelect;
