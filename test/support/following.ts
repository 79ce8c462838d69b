// What the queue writes after the commits, at any time: two readings of the same state may differ in it.
import type { Json } from "./world.ts";

/** How far each activity log is hashed. */
const HASHED: Readonly<Record<string, readonly string[]>> = {
  activity_entries: ["hash"],
  activity_chains: ["seq", "hash"],
};

/** A row without what follows by itself. */
export const settledPart = (table: string, row: Json): Json =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !HASHED[table]?.includes(name)));
