// What is written after the commits, at any time: two readings of the same state may differ in it.
import type { Json } from "./world.ts";

/**
 * How far each activity log is hashed, which events are listed, which entries of the directory have their terms, and when a key and a session were last used: that is
 * written after the answer of any call, at most once a minute.
 */
const LATER: Readonly<Record<string, readonly string[]>> = {
  activity_entries: ["hash"],
  activity_chains: ["seq", "hash"],
  events: ["listed"],
  directory_entries: ["unindexed", "terms"],
  management_keys: ["last_used_at"],
  sessions: ["used_at"],
};

/** Tables that follow as a whole: the marks of the outbox, the volumes that jobs count, and what is made of the directory's records and entries. */
export const FOLLOWING: ReadonlySet<string> = new Set([
  "outbox",
  "account_volumes",
  "directory_terms",
  "directory_term_counts",
  "directory_hashes",
  "directory_feeds",
]);

/** A row without what follows by itself. */
export const settledPart = (table: string, row: Json): Json =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !LATER[table]?.includes(name)));
