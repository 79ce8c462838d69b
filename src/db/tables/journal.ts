// Specification 2.10, 2.11 and 6, as stored: what changes leave behind, and what a call under an Idempotency-Key answered.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { ActorType, AlertKind, Environment } from "../../core/vocabulary.ts";

/** What a call with an Idempotency-Key answered, written in the same batch as its effect. */
export const idempotencyOutcomes = sqliteTable(
  "idempotency_outcomes",
  {
    platformId: text().notNull(),
    /** SHA-256 of environment, method, path and key. */
    requestKey: text().notNull(),
    bodyHash: text().notNull(),
    status: integer().notNull(),
    /** JSON; sealed where it holds a once-only secret. */
    body: text().notNull(),
    sealed: integer({ mode: "boolean" }).notNull(),
    expiresAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.platformId, t.requestKey] }), index("idempotency_outcomes_due").on(t.expiresAt)],
);

export const activityEntries = sqliteTable(
  "activity_entries",
  {
    platformId: text().notNull(),
    id: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    occurredAt: integer().notNull(),
    action: text().notNull(),
    actorType: text().$type<ActorType>().notNull(),
    actorId: text().notNull(),
    subjectType: text().notNull(),
    subjectId: text().notNull(),
    changes: text({ mode: "json" }).$type<Record<string, { from: unknown; to: unknown }>>(),
  },
  (t) => [primaryKey({ columns: [t.platformId, t.id] })],
);

/**
 * The outbox: written with the change that it reports. `seq` grows with every commit, so a reader of it misses nothing; the newest row is
 * never deleted, because the next number follows on it.
 */
export const events = sqliteTable(
  "events",
  {
    seq: integer().primaryKey(),
    platformId: text().notNull(),
    environment: text().$type<Environment>().notNull(),
    id: text().notNull(),
    type: text().notNull(),
    occurredAt: integer().notNull(),
    object: text({ mode: "json" }).$type<Record<string, unknown>>().notNull(),
  },
  (t) => [uniqueIndex("events_by_owner").on(t.platformId, t.environment, t.id)],
);
export type EventRow = typeof events.$inferSelect;

/** The latest run of each job. Instants are of the wall clock. */
export const jobs = sqliteTable("jobs", {
  name: text().primaryKey(),
  startedAt: integer().notNull(),
  /** When a part of it last came back. */
  progressedAt: integer().notNull(),
  /** Null while it runs. */
  finishedAt: integer(),
  /** Since when the oldest of what it found was due; null when nothing was. */
  oldestDueAt: integer(),
  found: integer().notNull(),
  /** Parts that have not come back. */
  pending: integer().notNull(),
  done: integer().notNull(),
  failed: integer().notNull(),
  lastError: text(),
  lastErrorAt: integer(),
});
export type JobRow = typeof jobs.$inferSelect;

/** What an operator has to look at, until it is acknowledged. One row for each thing: what is found again is counted. */
export const alerts = sqliteTable(
  "alerts",
  {
    alertId: text().primaryKey(),
    kind: text().$type<AlertKind>().notNull(),
    subject: text().notNull(),
    message: text().notNull(),
    raisedAt: integer().notNull(),
    lastSeenAt: integer().notNull(),
    seen: integer().notNull().default(1),
    /** When a mail told of it; null while none did. */
    mailedAt: integer(),
    acknowledgedAt: integer(),
    acknowledgedBy: text(),
  },
  (t) => [
    uniqueIndex("alerts_open").on(t.kind, t.subject).where(sql`acknowledged_at is null`),
    index("alerts_by_time").on(t.raisedAt, t.alertId),
    index("alerts_unmailed").on(t.kind, t.raisedAt).where(sql`mailed_at is null and acknowledged_at is null`),
  ],
);
export type AlertRow = typeof alerts.$inferSelect;

/** When a mail last told of alerts of a kind. */
export const alertMails = sqliteTable("alert_mails", {
  kind: text().$type<AlertKind>().primaryKey(),
  sentAt: integer().notNull(),
});

/** How far the outbox was handed on. */
export const outbox = sqliteTable("outbox", { name: text().primaryKey(), seq: integer().notNull() });

/** 2.10: append-only. `seq` is drawn inside the batch, so its order is the order of commits. */
export const directoryChanges = sqliteTable(
  "directory_changes",
  {
    environment: text().$type<Environment>().notNull(),
    seq: integer().notNull(),
    did: text().notNull(),
    changeType: text().notNull(),
    occurredAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.environment, t.seq] })],
);
