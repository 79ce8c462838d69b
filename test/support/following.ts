// Columns and tables that are written after the commits, at any time, so that two reads of the same state may differ in them.
import type { Json } from "./world.ts";

/**
 * How far each activity log is hashed, which events are listed, and which directory entries have their terms; and the last use of a key and a
 * session, which is written after any call's answer, at most once a minute.
 */
const LATER: Readonly<Record<string, readonly string[]>> = {
  activity_entries: ["hash"],
  activity_chains: ["seq", "hash"],
  events: ["listed"],
  directory_entries: ["unindexed", "terms"],
  management_keys: ["last_used_at"],
  sessions: ["used_at"],
};

/**
 * Tables that follow as a whole: the marks of the outbox, the volumes that jobs count, and the terms that jobs make from the directory's records and
 * entries.
 */
export const FOLLOWING: ReadonlySet<string> = new Set([
  "outbox",
  "account_volumes",
  "directory_terms",
  "directory_term_counts",
  "directory_hashes",
  "directory_feeds",
]);

/** A row without the columns that follow. */
export const settledPart = (table: string, row: Json): Json =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !LATER[table]?.includes(name)));
