// Reads a platform's activity log (EVT-14): one page, or all entries of a range of time.
import { askedPage, type ManagementCall } from "../call.ts";
import { exportedRange, slicesOf } from "../core/export.ts";
import { encodeCursor, listingOf, type Page } from "../core/page.ts";
import { readBatch } from "../db/batch.ts";
import type { ActivityQuery } from "./activity-schema.ts";
import { type ActivityFilter, entryReads, rangeOf, type ShownRow } from "./activity-store.ts";
import { toEntryView } from "./activity-views.ts";
import { type Slice, toSlice } from "./log-read.ts";
import type { ActivityEntry } from "./responses.ts";

const filterOf = (query: ActivityQuery): ActivityFilter => ({
  subjectType: query.subject_type,
  subjectId: query.subject_id,
  actorType: query.actor_type,
  actor: query.actor,
  action: query.action,
  environment: query.environment,
  after: query.occurred_after,
  before: query.occurred_before,
});

export async function getActivity(call: ManagementCall, query: ActivityQuery): Promise<Page<ActivityEntry>> {
  const { db, tenant } = call;
  const filter = filterOf(query);
  // Both environments share one log, so a cursor continues with a key of either.
  const page = await askedPage(call, query, listingOf("activity", [], filter));
  const range = rangeOf(tenant.platformId, filter, page.after?.at ?? null);
  const { rows, next } = ofType(filter, toSlice(await call.read(entryReads(db, range, page.limit)), page.limit));
  const next_cursor = next === null ? null : encodeCursor(page.listing, { at: next, id: "" });
  return { data: rows.map(toEntryView), next_cursor, has_more: next !== null };
}

/** A subject's id implies its type, so if any entry has another type, no entry fits both filters. */
function ofType({ subjectType, subjectId }: ActivityFilter, slice: Slice<ShownRow>): Slice<ShownRow> {
  if (subjectType === undefined || subjectId === undefined) return slice;
  return slice.rows.every((row) => row.subjectType === subjectType) ? slice : { rows: [], next: null };
}

// ---- All entries of a range of time --------------------------------------------------------------------------------------

const EXPORT_SLICE = 500;

/** The entries of at most 31 days, newest first, slice by slice. */
export async function exportActivity(
  call: ManagementCall,
  query: ActivityQuery,
): Promise<AsyncIterator<readonly ActivityEntry[]>> {
  const { db, now } = call;
  const { caller } = await call.read({});
  const { occurred_after, occurred_before, cursor } = query;
  const range = exportedRange({ from: occurred_after, to: occurred_before, cursor }, now, "occurred_after");
  const filter = { ...filterOf(query), after: range.from, before: range.to };
  return slicesOf(async (below: number | null) => {
    const found = await readBatch(db, entryReads(db, rangeOf(caller.platformId, filter, below), EXPORT_SLICE));
    const { rows, next } = ofType(filter, toSlice(found, EXPORT_SLICE));
    return { rows: rows.map(toEntryView), next };
  });
}
