// The types of a database, of a statement in a batch, of a read (a statement with a mapping of its rows), and of the tenant that a read is for.
import { and, eq, type SQL } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { DrizzleD1Database } from "drizzle-orm/d1";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Environment } from "../core/vocabulary.ts";

export type Database = DrizzleD1Database;
export type PlainStatement = BatchItem<"sqlite">;
export type RowsQuery<Row> = PlainStatement & { _: { result: Row[] } };
/** `map` is a method, so that a mapping of rows of any type is one. */
export type Read<T> = { readonly statement: PlainStatement; map(rows: unknown): T };

/**
 * The commit makes the outbox deliver its events. It also names a platform whose activity log has new entries to hash, or an environment whose
 * directory has new records (EVT-4, EVT-12, DIR-9).
 */
export type Notification = { readonly activityOf?: string; readonly listedIn?: Environment };

/** A statement of a batch of writes. Its commit notifies the outbox's queue if it writes an event, an activity entry or a record of the directory. */
export type Statement = PlainStatement | { readonly statement: PlainStatement; readonly notifies: Notification };

/**
 * Every read of a platform's rows takes a Tenant first. The platform may be an SQL expression (the owner of the presented key), so that authentication
 * and the reads that it guards share one trip.
 */
export type Tenant = { readonly environment: Environment; readonly platformId: string | SQL<string> };

export type Owner = { readonly platformId: string; readonly environment: Environment };

type Owned = { platformId: SQLiteColumn; environment: SQLiteColumn };

export const isOfTenant = (table: Owned, tenant: Tenant): SQL => {
  const both = and(eq(table.platformId, tenant.platformId), eq(table.environment, tenant.environment));
  if (!both) throw new Error("unreachable: two conditions are a condition");
  return both;
};
