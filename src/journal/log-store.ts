// Pages of a log by number, newest first, whatever the filters. A page reads one range: the whole log, or the entries of one indexed value.
// Filters beyond it are compared within at most SCANNED rows of that range, so that a page costs the same in a log of any length (EVT-14).
import { desc, type SQL, sql } from "drizzle-orm";
import type { SelectedFields } from "drizzle-orm/sqlite-core";
import { type Database, present, type Read, read, readAll } from "../db/batch.ts";
import { SCANNED } from "../db/pages.ts";

/** A range of a log and what its rows have to be. */
export type Range = {
  /** The table, and the index that the range is read by. */
  readonly source: SQL;
  /** The conditions that the index finds; without the number. */
  readonly keys: readonly SQL[];
  /** The number below which the entries are; an expression. */
  readonly below: SQL;
  /** The number above which they are. */
  readonly above?: SQL | undefined;
  /** Conditions that each row is compared with. */
  readonly rest: readonly SQL[];
};

const within = ({ keys, below, above }: Range): SQL =>
  sql.join([...keys, sql`seq < ${below}`, ...(above ? [sql`seq > ${above}`] : [])], sql` and `);

/** The rows that a page looks at, in its order. */
const scanned = (range: Range): SQL =>
  sql`(select * from ${range.source} where ${within(range)} order by seq desc limit ${SCANNED})`;

const fitting = ({ rest }: Range): SQL => sql.join([...rest], sql` and `);

/** Up to one row more than the page has. */
export function findLogRows<Row>(db: Database, columns: SelectedFields, range: Range, limit: number): Read<Row[]> {
  const rows =
    range.rest.length === 0
      ? db.select(columns).from(range.source).where(within(range)).orderBy(desc(sql`seq`))
      : // The subquery hands its rows over in its own order, one by one: reading ends with the page.
        db.select(columns).from(scanned(range)).where(fitting(range));
  return readAll(rows.limit(limit + 1) as never);
}

/**
 * The last number that a page with further filters has looked at; null when it is full, or has seen the whole range. In the batch of the
 * page's rows, so that what is written meanwhile does not move that place. For a full page the limit is 0, and nothing more is read.
 */
export function findScanEnd(db: Database, range: Range, limit: number): Read<number | null> {
  const fit = sql`(select count(*) from (select 1 from ${scanned(range)} where ${fitting(range)} limit ${limit + 1}))`;
  const last = sql`(select seq from ${range.source} where ${within(range)} order by seq desc
    limit ${fit} <= ${limit} offset ${SCANNED - 1})`;
  return read(db.select({ seq: sql<number>`seq` }).from(last), ([row]) => row?.seq ?? null);
}

/** The reads of a page. Without further filters its rows alone tell whether more follow. */
export const logReads = <Row>(db: Database, rows: Read<Row[]>, range: Range, limit: number) =>
  present({ rows, end: range.rest.length === 0 ? null : findScanEnd(db, range, limit) });
