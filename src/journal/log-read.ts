// Turns the rows of one reading of a log into a page, or a slice of it (EVT-14).
import { type Database, readBatch } from "../db/batch.ts";
import { findScanEnd, type Range } from "./log-store.ts";

/** `next`: the number of the entry after which the log goes on; null at its end. */
export type Slice<Row> = { readonly rows: readonly Row[]; readonly next: number | null };

/**
 * `rows` are up to `limit` + 1. Where fewer fit than the page holds, a second trip asks where the next one begins; `range` then ends at a
 * fixed number, so that what is written meanwhile does not move that place.
 */
export async function toSlice<Row extends { readonly seq: number }>(
  db: Database,
  rows: readonly Row[],
  limit: number,
  range: Range,
): Promise<Slice<Row>> {
  const shown = rows.slice(0, limit);
  if (rows.length > limit) return { rows: shown, next: shown.at(-1)?.seq ?? null };
  if (range.rest.length === 0) return { rows: shown, next: null };
  const { end } = await readBatch(db, { end: findScanEnd(db, range) });
  return { rows: shown, next: end };
}
