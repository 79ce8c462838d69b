// Lists the operators' log (EVT-16).
import { askedPage, type OperatorCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { encodeCursor, listingOf, type Page } from "../core/page.ts";
import type { OperatorEntryRow } from "../db/tables/journal.ts";
import { toSlice } from "./log-read.ts";
import type { OperatorEntry, OperatorLogQuery } from "./operator-log-schema.ts";
import { findNewestEntry, findOperatorEntries, operatorRange } from "./operator-log-store.ts";

export async function getOperatorLog(call: OperatorCall, query: OperatorLogQuery): Promise<Page<OperatorEntry>> {
  const { db } = call;
  const filter = { platformId: query.platform_id, actor: query.actor, action: query.action };
  const page = await askedPage(call, query, listingOf("operator activity", [], filter));
  const below = page.after?.at ?? null;
  const found = await call.read({
    rows: findOperatorEntries(db, operatorRange(filter, below), page.limit + 1),
    newest: findNewestEntry(db),
  });
  const { rows, next } = await toSlice(db, found.rows, page.limit, operatorRange(filter, below ?? found.newest + 1));
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
