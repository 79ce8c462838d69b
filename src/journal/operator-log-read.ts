// Lists the operators' log (EVT-16).
import { type OperatorCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { encodeCursor, hashListing, type Page } from "../core/page.ts";
import type { OperatorEntryRow } from "../db/tables/journal.ts";
import { toSlice } from "./log-read.ts";
import type { OperatorLogQuery } from "./operator-log-schema.ts";
import { readOperatorEntries, toOperatorRange } from "./operator-log-store.ts";
import type { OperatorEntry } from "./responses.ts";

export async function getOperatorLog(call: OperatorCall, query: OperatorLogQuery): Promise<Page<OperatorEntry>> {
  const { db } = call;
  const filter = { platformId: query.platform_id, actor: query.actor, action: query.action };
  const page = await readPage(call, query, hashListing("operator activity", [], filter));
  const range = toOperatorRange(filter, page.after?.at ?? null);
  const { rows, next } = toSlice(await call.read(readOperatorEntries(db, range, page.limit)), page.limit);
  const next_cursor = next === null ? null : encodeCursor(page.listing, { at: next, id: "" });
  return { data: rows.map(toOperatorEntry), next_cursor, has_more: next !== null };
}

const toOperatorEntry = (row: OperatorEntryRow): OperatorEntry => ({
  seq: row.seq,
  occurred_at: toIso(row.occurredAt),
  action: row.action,
  actor: { type: "operator", id: row.operatorId },
  subject: { type: row.subjectType, id: row.subjectId },
  platform_id: row.platformId,
  ...(row.detail !== null && { detail: row.detail }),
});
