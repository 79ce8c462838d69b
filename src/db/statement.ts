// The types of a database, of a statement in a batch, and of a read: a statement with a mapping of its rows.
import type { BatchItem } from "drizzle-orm/batch";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { Environment } from "../core/vocabulary.ts";

export type Database = DrizzleD1Database;
export type PlainStatement = BatchItem<"sqlite">;
export type Read<T> = { readonly statement: PlainStatement; readonly map: (rows: never) => T };

/**
 * The commit makes the outbox deliver its events. It also names a platform whose activity log has new entries to hash, or an environment whose
 * directory has new records (EVT-4, EVT-12, DIR-9).
 */
export type Notification = { readonly activityOf?: string; readonly listedIn?: Environment };

/** A statement of a batch of writes. Its commit notifies the outbox's queue if it writes an event, an activity entry or a record of the directory. */
export type Statement = PlainStatement | { readonly statement: PlainStatement; readonly notifies: Notification };
