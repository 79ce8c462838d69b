// Reads a platform's activity log (EVT-14): a page of it, or all of a range of time.
import { askedPage, type ManagementCall } from "../call.ts";
import { fieldError, validationError } from "../core/errors.ts";
import { DAY_MS } from "../core/limits.ts";
import { encodeCursor, listingOf, type Page } from "../core/page.ts";
import { type Database, readBatch } from "../db/batch.ts";
import type { ActivityEntry, ActivityQuery } from "./activity-schema.ts";
import { type ActivityFilter, entryReads, rangeOf, type ShownRow } from "./activity-store.ts";
import { toEntryView } from "./activity-views.ts";
import { type Slice, toSlice } from "./log-read.ts";

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
  // One log for both environments: a cursor goes on with either key.
  const page = await askedPage(call, query, listingOf("activity", [], filter));
  const range = rangeOf(tenant.platformId, filter, page.after?.at ?? null);
  const { rows, next } = ofType(filter, toSlice(await call.read(entryReads(db, range, page.limit)), page.limit));
  const next_cursor = next === null ? null : encodeCursor(page.listing, { at: next, id: "" });
  return { data: rows.map(toEntryView), next_cursor, has_more: next !== null };
}

/** An id names its type, so its entries are not compared one by one: another type beside it has none. */
function ofType({ subjectType, subjectId }: ActivityFilter, slice: Slice<ShownRow>): Slice<ShownRow> {
  if (subjectType === undefined || subjectId === undefined) return slice;
  return slice.rows.every((row) => row.subjectType === subjectType) ? slice : { rows: [], next: null };
}

// ---- All entries of a range of time --------------------------------------------------------------------------------------

const EXPORT_MS = 31 * DAY_MS;
const EXPORT_SLICE = 500;

/** The entries of at most 31 days, newest first, slice by slice. */
export async function exportActivity(
  call: ManagementCall,
  query: ActivityQuery,
): Promise<AsyncIterator<readonly ActivityEntry[]>> {
  const { caller } = await call.read({});
  return slicesOf(call.db, caller.platformId, exportFilter(call, query));
}

async function* slicesOf(db: Database, platformId: string, filter: ActivityFilter) {
  for (let below: number | null = Number.MAX_SAFE_INTEGER; below !== null; ) {
    const range = rangeOf(platformId, filter, below);
    const found = await readBatch(db, entryReads(db, range, EXPORT_SLICE));
    const { rows, next }: Slice<ShownRow> = ofType(filter, toSlice(found, EXPORT_SLICE));
    yield rows.map(toEntryView);
    below = next;
  }
}

function exportFilter({ now }: ManagementCall, query: ActivityQuery): ActivityFilter {
  const { occurred_before: before, cursor } = query;
  const after = query.occurred_after ?? (before ?? now) - EXPORT_MS;
  // Nothing is left out without a word: a range that begins longer ago names its end.
  const end = before ?? now;
  const faults = [
    ...(cursor === undefined
      ? []
      : [fieldError("cursor", "invalid_value", "A CSV has no pages: leave the cursor out.")]),
    ...(end - after <= EXPORT_MS
      ? []
      : [fieldError("occurred_after", "invalid_value", "A CSV covers at most 31 days.")]),
  ];
  if (faults.length > 0) throw validationError(faults);
  return { ...filterOf(query), after, before };
}
