// Reads a platform's activity log (EVT-14): one page, or all entries of a range of time.
import { type ManagementCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { readSlices, toExportedRange } from "../core/export.ts";
import { encodeCursor, hashListing, type Page } from "../core/page.ts";
import type { ActivityAction } from "../core/vocabulary.ts";
import { readBatch } from "../db/batch.ts";
import { toActivityId } from "./activity.ts";
import { type ActivityFilter, readEntries, type ShownRow, toRange } from "./activity-store.ts";
import { type Slice, toSlice } from "./log-store.ts";
import type { ActivityEntry } from "./responses.ts";
import type { ActivityQuery } from "./schema.ts";

export async function getActivity(call: ManagementCall, query: ActivityQuery): Promise<Page<ActivityEntry>> {
  const { db, tenant } = call;
  const filter = toFilter(query);
  // Both environments share one log, so a cursor continues with a key of either.
  const page = await readPage(call, query, hashListing("activity", [], filter));
  const range = toRange(tenant.platformId, filter, page.after?.at ?? null);
  const { rows, next } = checkSubjectType(
    filter,
    toSlice(await call.read(readEntries(db, range, page.limit)), page.limit),
  );
  const next_cursor = next === null ? null : encodeCursor(page.listing, { at: next, id: "" });
  return { data: rows.map(toActivityEntryView), next_cursor, has_more: next !== null };
}

const toFilter = (query: ActivityQuery): ActivityFilter => ({
  subjectType: query.subject_type,
  subjectId: query.subject_id,
  actorType: query.actor_type,
  actor: query.actor,
  action: query.action,
  environment: query.environment,
  after: query.occurred_after,
  before: query.occurred_before,
});

/** A subject's id implies its type, so if any entry has another type, no entry fits both filters. */
function checkSubjectType({ subjectType, subjectId }: ActivityFilter, slice: Slice<ShownRow>): Slice<ShownRow> {
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
  const range = toExportedRange({ from: occurred_after, to: occurred_before, cursor }, now, "occurred_after");
  const filter = { ...toFilter(query), after: range.from, before: range.to };
  return readSlices(async (below: number | null) => {
    const found = await readBatch(db, readEntries(db, toRange(caller.platformId, filter, below), EXPORT_SLICE));
    const { rows, next } = checkSubjectType(filter, toSlice(found, EXPORT_SLICE));
    return { rows: rows.map(toActivityEntryView), next };
  });
}

// ---- The view of an entry ------------------------------------------------------------------------------------------------

/** The running hash covers this view, so a new member changes every hash. */
export const toActivityEntryView = (row: ShownRow): ActivityEntry => ({
  id: toEntryId(row),
  seq: row.seq,
  occurred_at: toIso(row.occurredAt),
  action: row.action as ActivityAction,
  actor: { type: row.actorType, id: row.actorId },
  subject: { type: row.subjectType, id: row.subjectId },
  environment: row.environment,
  ...(row.changes !== null && { changes: row.changes }),
});

export const toEntryId = ({ platformId, seq, occurredAt }: ShownRow): string =>
  toActivityId(platformId, seq, occurredAt);
