// The operators' own log (EVT-16): what a person or key of the operator did, written in the batch of the act. Acts that a platform may see are in its
// activity log as well.
import { type OperatorCall, readPage } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { encodeCursor, hashListing, type Page } from "../core/page.ts";
import type { Actor, OperatorAction } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { OperatorEntryRow } from "../db/tables/journal.ts";
import { insertOperatorEntry, readOperatorEntries, toOperatorRange, toSlice } from "./log-store.ts";
import type { OperatorEntry } from "./responses.ts";
import type { OperatorLogQuery } from "./schema.ts";

export type OperatorAct = {
  readonly action: OperatorAction;
  readonly subject: { readonly type: string; readonly id: string };
  readonly platformId?: string;
  /** Facts for a later reader; never a secret or the content of a document. */
  readonly detail?: Readonly<Record<string, unknown>>;
};

export const recordOperatorEntry = (
  db: Database,
  operator: Actor,
  now: number,
  { action, subject, platformId, detail }: OperatorAct,
): Statement =>
  insertOperatorEntry(db, {
    occurredAt: now,
    operatorId: operator.id,
    action,
    subjectType: subject.type,
    subjectId: subject.id,
    platformId: platformId ?? null,
    detail: detail ?? null,
  });

// ---- The list ------------------------------------------------------------------------------------------------------------

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
