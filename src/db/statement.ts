// The types of a database, of a statement in a batch, and of a read: a statement with a mapping of its rows.
import type { BatchItem } from "drizzle-orm/batch";
import type { DrizzleD1Database } from "drizzle-orm/d1";

export type Database = DrizzleD1Database;
export type Statement = BatchItem<"sqlite">;
export type Read<T> = { readonly statement: Statement; readonly map: (rows: never) => T };
