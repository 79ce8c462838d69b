// Exports all rows of an account's list in a range of time, newest first, slice by slice (HTTP-37).
import type { ManagementCall } from "../call.ts";
import { readSlices, toExportedRange } from "../core/export.ts";
import type { Position } from "../core/page.ts";
import { type Read, readBatch } from "../db/batch.ts";
import type { FoundRows } from "../db/pages.ts";
import type { Tenant } from "../db/tenant.ts";

type ExportQuery = {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly cursor?: string | undefined;
};
type Range = { readonly since: number; readonly until: number | undefined };
type AskedRows = { readonly limit: number; readonly after: Position | null };
type ExportedList<Row, View> = {
  /** Lists up to one row more than the limit, or the rows that a scan has found. */
  readonly list: (owner: Tenant, range: Range, page: AskedRows) => Read<Row[] | FoundRows<Row>>;
  readonly positionOf: (row: Row) => Position;
  readonly toView: (row: Row) => View;
};

const SLICE = 500;

export async function exportAll<Row, View>(
  call: ManagementCall,
  query: ExportQuery,
  { list, positionOf, toView }: ExportedList<Row, View>,
): Promise<AsyncIterator<readonly View[]>> {
  const { db, now, environment } = call;
  const { caller } = await call.read({});
  const { from, to } = toExportedRange({ from: query.since, to: query.until, cursor: query.cursor }, now, "since");
  const owner = { platformId: caller.platformId, environment };
  return readSlices(async (after: Position | null) => {
    const { found } = await readBatch(db, { found: list(owner, { since: from, until: to }, { limit: SLICE, after }) });
    const listed = Array.isArray(found) ? { rows: found, end: null } : found;
    const rows = listed.rows.slice(0, SLICE);
    const last = listed.rows.length > rows.length ? rows.at(-1) : listed.end;
    return { rows: rows.map(toView), next: last ? positionOf(last) : null };
  });
}
