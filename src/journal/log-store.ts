// Pages of a log by number, newest first, for any filters. A page reads one range: the whole log, or the entries of one indexed value. Further
// filters are compared within at most SCANNED rows of that range, so that a page costs the same in a log of any length (EVT-14).
import { desc, type SQL, sql } from "drizzle-orm";
import type { SelectedFields } from "drizzle-orm/sqlite-core";
import { type Database, dropAbsentReads, type Read, read, readAll } from "../db/batch.ts";
import { SCAN_LIMIT } from "../db/pages.ts";

/** A range of a log, and the conditions for its rows. */
export type Range = {
  /** The table, and the index that reads the range. */
  readonly source: SQL;
  /** The conditions that the index finds, without the number. */
  readonly keys: readonly SQL[];
  /** The number below which the entries are; an expression. */
  readonly below: SQL;
  /** The number above which they are. */
  readonly above?: SQL | undefined;
  /** The conditions that are compared row by row. */
  readonly rest: readonly SQL[];
};

const isRowInRange = ({ keys, below, above }: Range): SQL =>
  sql.join([...keys, sql`seq < ${below}`, ...(above ? [sql`seq > ${above}`] : [])], sql` and `);

/** The rows that a page may scan, in its order. */
const selectScannedRows = (range: Range): SQL =>
  sql`(select * from ${range.source} where ${isRowInRange(range)} order by seq desc limit ${SCAN_LIMIT})`;

const matchRest = ({ rest }: Range): SQL => sql.join([...rest], sql` and `);

export function findLogRows<Row>(db: Database, columns: SelectedFields, range: Range, limit: number): Read<Row[]> {
  const rows =
    range.rest.length === 0
      ? db.select(columns).from(range.source).where(isRowInRange(range)).orderBy(desc(sql`seq`))
      : // The subquery returns its rows one by one in its own order, so reading ends with the page.
        db.select(columns).from(selectScannedRows(range)).where(matchRest(range));
  return readAll(rows.limit(limit + 1) as never);
}

/**
 * The last number that a page with further filters has scanned; null if it is full or has seen the whole range. It belongs in the batch of the page's
 * rows, so that concurrent writes do not move that place. For a full page the limit is 0, and nothing is read.
 */
export function findScanEnd(db: Database, range: Range, limit: number): Read<number | null> {
  const fit = sql`(select count(*) from (select 1 from ${selectScannedRows(range)} where ${matchRest(range)} limit ${limit + 1}))`;
  const last = sql`(select seq from ${range.source} where ${isRowInRange(range)} order by seq desc
    limit ${fit} <= ${limit} offset ${SCAN_LIMIT - 1})`;
  return read(db.select({ seq: sql<number>`seq` }).from(last), ([row]) => row?.seq ?? null);
}

/** The reads of a page. Without further filters, its rows alone show whether more follow. */
export const readLogPage = <Row>(db: Database, rows: Read<Row[]>, range: Range, limit: number) =>
  dropAbsentReads({ rows, end: range.rest.length === 0 ? null : findScanEnd(db, range, limit) });
