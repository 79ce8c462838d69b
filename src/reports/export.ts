// Lists of an account as data: each is answered by page, or exported for a range of time, newest first, slice by slice (HTTP-37).
import { type ManagementCall, readPage } from "../call.ts";
import { readSlices, toExportedRange } from "../core/export.ts";
import { type AskedRows, type FoundRows, type Listing, type Page, type Position, toPage } from "../core/page.ts";
import type { Side } from "../core/vocabulary.ts";
import { type Read, readBatch } from "../db/batch.ts";
import type { Tenant } from "../db/tenant.ts";

type ExportQuery = {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly cursor?: string | undefined;
};
type Range = Pick<ExportQuery, "since" | "until">;
export type AccountList<Row, View> = {
  /** Lists up to one row more than the limit, or the rows that a scan has found. */
  readonly list: (owner: Tenant, range: Range, page: AskedRows) => Read<FoundRows<Row>>;
  readonly positionOf: (row: Row) => Position;
  readonly toView: (row: Row) => View;
};

type AccountQuery = Range & { readonly did?: string | undefined; readonly role?: Side | undefined };

/** The filters that all lists of an account have. */
export const toAccountFilter = <S>({ did, role, status, since, until }: AccountQuery & { readonly status?: S }) => ({
  did,
  role,
  status,
  since,
  until,
});

export async function answerAccountPage<Row, View>(
  call: ManagementCall,
  query: Range & { readonly limit: number; readonly cursor?: string | undefined },
  listing: Listing,
  { list, positionOf, toView }: AccountList<Row, View>,
): Promise<Page<View>> {
  const page = await readPage(call, query, listing);
  const { found } = await call.read({ found: list(call.tenant, query, page) });
  return toPage(found, page, positionOf, toView);
}

const SLICE = 500;

export async function exportAll<Row, View>(
  call: ManagementCall,
  query: ExportQuery,
  { list, positionOf, toView }: AccountList<Row, View>,
): Promise<AsyncIterator<readonly View[]>> {
  const { db, now, environment } = call;
  const { caller } = await call.read({});
  const { from, to } = toExportedRange({ from: query.since, to: query.until, cursor: query.cursor }, now, "since");
  const owner = { platformId: caller.platformId, environment };
  return readSlices(async (after: Position | null) => {
    const { found } = await readBatch(db, { found: list(owner, { since: from, until: to }, { limit: SLICE, after }) });
    const rows = found.rows.slice(0, SLICE);
    const last = found.rows.length > rows.length ? rows.at(-1) : found.end;
    return { rows: rows.map(toView), next: last ? positionOf(last) : null };
  });
}
