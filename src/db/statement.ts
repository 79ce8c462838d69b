// The types of a database, of a statement in a batch, and of a read: a statement with a mapping of its rows.
import type { BatchItem } from "drizzle-orm/batch";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { Environment } from "../core/vocabulary.ts";

export type Database = DrizzleD1Database;
export type PlainStatement = BatchItem<"sqlite">;
export type Read<T> = { readonly statement: PlainStatement; readonly map: (rows: never) => T };

/**
 * What the outbox's queue processes after the commit: the outbox's events, and also the running hash of a platform's activity log, or the directory of
 * an environment (EVT-4, EVT-12, DIR-9).
 */
export type Notification = { readonly activityOf?: string; readonly listedIn?: Environment };

/** A statement of a batch of writes. Its commit notifies the outbox's queue if it writes an event, an activity entry or a record of the directory. */
export type Statement = PlainStatement | { readonly statement: PlainStatement; readonly notifies: Notification };
