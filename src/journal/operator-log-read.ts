// Lists the operators' log (EVT-16).
import { askedPage, type OperatorCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { encodeCursor, listingOf, type Page } from "../core/page.ts";
import type { OperatorEntryRow } from "../db/tables/journal.ts";
import { toSlice } from "./log-read.ts";
import type { OperatorLogQuery } from "./operator-log-schema.ts";
import { operatorRange, operatorReads } from "./operator-log-store.ts";
import type { OperatorEntry } from "./responses.ts";

export async function getOperatorLog(call: OperatorCall, query: OperatorLogQuery): Promise<Page<OperatorEntry>> {
  const { db } = call;
  const filter = { platformId: query.platform_id, actor: query.actor, action: query.action };
  const page = await askedPage(call, query, listingOf("operator activity", [], filter));
  const range = operatorRange(filter, page.after?.at ?? null);
  const { rows, next } = toSlice(await call.read(operatorReads(db, range, page.limit)), page.limit);
  const next_cursor = next === null ? null : encodeCursor(page.listing, { at: next, id: "" });
  return { data: rows.map(toView), next_cursor, has_more: next !== null };
}

const toView = (row: OperatorEntryRow): OperatorEntry => ({
  seq: row.seq,
  occurred_at: toIso(row.occurredAt),
  action: row.action,
  actor: { type: "operator", id: row.operatorId },
  subject: { type: row.subjectType, id: row.subjectId },
  platform_id: row.platformId,
  ...(row.detail !== null && { detail: row.detail }),
});
