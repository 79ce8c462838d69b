// Tables of the activity log with its chain and heads, the operators' log, events, jobs, alerts and idempotent outcomes.
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { ActorType, AlertKind, Environment, OperatorAction } from "../../core/vocabulary.ts";

/** The outcome of a call with an Idempotency-Key, written in the batch of its effect (IDM-3). */
export const idempotencyOutcomes = sqliteTable(
  "idempotency_outcomes",
  {
    platformId: text().notNull(),
    /** SHA-256 of environment, method, path and key. */
    requestKey: text().notNull(),
    bodyHash: text().notNull(),
    status: integer().notNull(),
    /** JSON; sealed if it holds a once-only secret. */
    body: text().notNull(),
    sealed: integer({ mode: "boolean" }).notNull(),
    expiresAt: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.platformId, t.requestKey] }), index("idempotency_outcomes_due").on(t.expiresAt)],
);

/**
 * The activity log (EVT-6). `seq` is drawn inside the batch: a platform's entries are numbered 1, 2, 3 and so on in the order of commits. The id of
 * an entry is computed (journal/activity.ts), so each entry costs its row and three places in indexes.
 */
export const activityEntries = sqliteTable(
  "activity_entries",
  {
    platformId: text().notNull(),
    seq: integer().notNull(),
    environment: text().$type<Environment>().notNull(),
    occurredAt: integer().notNull(),
    action: text().notNull(),
    actorType: text().$type<ActorType>().notNull(),
    actorId: text().notNull(),
    subjectType: text().notNull(),
    subjectId: text().notNull(),
    changes: text({ mode: "json" }).$type<Record<string, { from: unknown; to: unknown }>>(),
    hash: text(),
  },
  (t) => [
    primaryKey({ columns: [t.platformId, t.seq] }),
    index("activity_entries_by_subject").on(t.platformId, t.subjectId, t.seq),
    index("activity_entries_by_actor").on(t.platformId, t.actorId, t.seq),
    index("activity_entries_by_action").on(t.platformId, t.action, t.seq),
  ],
);
export type ActivityRow = typeof activityEntries.$inferSelect;

/** How far each platform's log is hashed, and how far a head is signed (EVT-12, EVT-13). Mutations never read or write it. */
export const activityChains = sqliteTable(
  "activity_chains",
  {
    platformId: text().primaryKey(),
    seq: integer().notNull(),
    hash: text().notNull(),
    headSeq: integer().notNull(),
    checkAt: integer().notNull(),
  },
  (t) => [index("activity_chains_due").on(t.checkAt, t.platformId)],
);
export type ChainRow = typeof activityChains.$inferSelect;

export const activityHeads = sqliteTable(
  "activity_heads",
  {
    platformId: text().notNull(),
    seq: integer().notNull(),
    hash: text().notNull(),
    signedAt: integer().notNull(),
    jws: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.platformId, t.seq] }),
    index("activity_heads_by_time").on(t.platformId, t.signedAt, t.seq),
  ],
);
export type HeadRow = typeof activityHeads.$inferSelect;

export const operatorEntries = sqliteTable(
  "operator_entries",
  {
    seq: integer().primaryKey(),
    occurredAt: integer().notNull(),
    operatorId: text().notNull(),
    action: text().$type<OperatorAction>().notNull(),
    subjectType: text().notNull(),
    subjectId: text().notNull(),
    platformId: text(),
    detail: text({ mode: "json" }).$type<Record<string, unknown>>(),
  },
  (t) => [
    index("operator_entries_by_platform").on(t.platformId, t.seq).where(sql`platform_id is not null`),
    index("operator_entries_by_operator").on(t.operatorId, t.seq),
    index("operator_entries_by_action").on(t.action, t.seq),
  ],
);
export type OperatorEntryRow = typeof operatorEntries.$inferSelect;

export const eventColumns = {
  platformId: text().notNull(),
  environment: text().$type<Environment>().notNull(),
  id: text().notNull(),
  type: text().notNull(),
  occurredAt: integer().notNull(),
  object: text({ mode: "json" }).$type<Record<string, unknown>>().notNull(),
  /** The earlier values of the members that changed according to the type; null for other types. */
  previous: text({ mode: "json" }).$type<Record<string, unknown>>(),
  /** The platform's agent that the event is about, and the other one if both agents of a purchase belong to the platform. */
  agentDid: text(),
  otherDid: text(),
  /** The resource that the event is about; null if that is one of its agents. */
  subject: text(),
  /** 1 after a job has listed the event. Only listed events are in the indexes, so a change does not pay for them (EVT-18). */
  listed: integer(),
};

/**
 * The outbox: written with the change that it reports. `seq` grows with every commit, so a reader misses no event; the newest row is never deleted,
 * because the next number is derived from it.
 */
export const events = sqliteTable(
  "events",
  {
    // Named, because Drizzle keeps one list of derived names for all tables of this name.
    seq: integer("seq").primaryKey(),
    ...eventColumns,
  },
  (t) => [
    // Each ends with the number, as every index of a table with a rowid does. An agent or a subject belongs to few platforms, so those indexes need
    // no platform.
    index("events_by_tenant").on(t.platformId, t.environment).where(sql`listed = 1`),
    index("events_by_id").on(t.platformId, t.environment, t.id).where(sql`listed = 1`),
    index("events_by_agent").on(t.agentDid, t.environment).where(sql`listed = 1 and agent_did is not null`),
    index("events_by_other").on(t.otherDid, t.environment).where(sql`listed = 1 and other_did is not null`),
    index("events_by_subject").on(t.subject, t.environment).where(sql`listed = 1 and subject is not null`),
  ],
);
export type EventRow = typeof events.$inferSelect;

/** The number of the last event at an instant of real time, about once an hour. It gives the events of a month, independent of a sandbox's clock. */
export const eventMarks = sqliteTable("event_marks", { at: integer().primaryKey(), seq: integer().notNull() });

/** The volume of each account on its last day (EVT-35): a later day replaces it. `day`: days since 1970 in UTC, of real time. */
export const accountVolumes = sqliteTable("account_volumes", {
  platformId: text().primaryKey(),
  day: integer().notNull(),
  sandboxEvents: integer().notNull(),
  sandboxDeliveries: integer().notNull(),
  /** The bytes of its events, counted once and once more for each delivery. */
  sandboxBytes: integer().notNull(),
  productionEvents: integer().notNull(),
  productionDeliveries: integer().notNull(),
  productionBytes: integer().notNull(),
  mails: integer().notNull(),
});
export type VolumeRow = typeof accountVolumes.$inferSelect;

/** Numbers that one batch notes for its own later statements (journal/directory-store.ts): a single row, which has no meaning for other batches. */
export const lastNumbers = sqliteTable("last_numbers", {
  name: text().primaryKey(),
  activity: integer().notNull(),
  // The number and the instant of the last record in each directory feed.
  sandbox: integer().notNull(),
  production: integer().notNull(),
  sandboxAt: integer().notNull().default(0),
  productionAt: integer().notNull().default(0),
});

/** Instants are in real time. */
export const jobs = sqliteTable("jobs", {
  name: text().primaryKey(),
  startedAt: integer().notNull(),
  progressedAt: integer().notNull(),
  finishedAt: integer(),
  /** Since when the oldest found row was due; null when none was found. */
  oldestDueAt: integer(),
  found: integer().notNull(),
  pending: integer().notNull(),
  done: integer().notNull(),
  failed: integer().notNull(),
  lastError: text(),
  lastErrorAt: integer(),
});
export type JobRow = typeof jobs.$inferSelect;

/** Alerts: one open row for each kind and subject, which counts repeated findings (JOB-10). */
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
    mailedAt: integer(),
    acknowledgedAt: integer(),
    acknowledgedBy: text(),
  },
  (t) => [
    uniqueIndex("alerts_open").on(t.kind, t.subject).where(sql`acknowledged_at is null`),
    index("alerts_by_time").on(t.raisedAt, t.alertId),
    index("alerts_standing").on(t.raisedAt, t.alertId).where(sql`acknowledged_at is null`),
    index("alerts_unmailed").on(t.kind, t.raisedAt).where(sql`mailed_at is null and acknowledged_at is null`),
  ],
);
export type AlertRow = typeof alerts.$inferSelect;

export const alertMails = sqliteTable("alert_mails", {
  kind: text().$type<AlertKind>().primaryKey(),
  sentAt: integer().notNull(),
});

export const outbox = sqliteTable("outbox", { name: text().primaryKey(), seq: integer().notNull() });
