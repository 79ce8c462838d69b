// Store of logs by number: the pages of a log (EVT-14), the operators' log (EVT-16), and the events with their outbox (EVT-4).
import { asc, desc, eq, type SQL, sql } from "drizzle-orm";
import { type SelectedFields, sqliteTable } from "drizzle-orm/sqlite-core";
import type { OperatorAction } from "../core/vocabulary.ts";
import {
  type Database,
  dropAbsentReads,
  mustChange,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { compileInsert } from "../db/compiled.ts";
import { isOneOf } from "../db/lists.ts";
import { SCAN_LIMIT, selectBareColumns } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import {
  type EventRow,
  eventColumns,
  events,
  type OperatorEntryRow,
  operatorEntries,
  outbox,
} from "../db/tables/journal.ts";

// ---- Pages of a log (EVT-14) ---------------------------------------------------------------------------------------------

/**
 * A page reads one range: the whole log, or the entries of one indexed value. Further filters are compared within at most SCAN_LIMIT rows of that
 * range, so that a page costs the same in a log of any length.
 */
export type Range = {
  /** The table, and the index that reads the range. */
  readonly source: SQL;
  /** The conditions that the index finds, besides the number. */
  readonly keys: readonly SQL[];
  readonly below: SQL;
  readonly above?: SQL | undefined;
  /** The conditions that are compared row by row. */
  readonly rest: readonly SQL[];
};

/** The reads of a page. Without further filters, its rows alone show whether more follow. */
export const readLogPage = <Row>(db: Database, rows: Read<Row[]>, range: Range, limit: number) =>
  dropAbsentReads({ rows, end: range.rest.length === 0 ? null : findScanEnd(db, range, limit) });

/** `next`: the number of the entry after which the log continues; null at its end. */
export type Slice<Row> = { readonly rows: readonly Row[]; readonly next: number | null };

type FoundPage<Row> = { readonly rows: readonly Row[]; readonly end?: number | null | undefined };

/** `rows`: up to `limit` + 1. */
export function toSlice<Row extends { readonly seq: number }>(
  { rows, end }: FoundPage<Row>,
  limit: number,
): Slice<Row> {
  const shown = rows.slice(0, limit);
  return { rows: shown, next: rows.length > limit ? (shown.at(-1)?.seq ?? null) : (end ?? null) };
}

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

const isRowInRange = ({ keys, below, above }: Range): SQL =>
  sql.join([...keys, sql`seq < ${below}`, ...(above ? [sql`seq > ${above}`] : [])], sql` and `);

const selectScannedRows = (range: Range): SQL =>
  sql`(select * from ${range.source} where ${isRowInRange(range)} order by seq desc limit ${SCAN_LIMIT})`;

const matchRest = ({ rest }: Range): SQL => sql.join([...rest], sql` and `);

// ---- The operators' log (EVT-16) -----------------------------------------------------------------------------------------

export const insertOperatorEntry = (db: Database, row: Omit<OperatorEntryRow, "seq">): Statement =>
  db.insert(operatorEntries).values(row);

export type OperatorFilter = {
  readonly platformId?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: OperatorAction | undefined;
};

const OPERATOR_INDEXES = {
  platformId: [sql`platform_id`, sql`operator_entries indexed by operator_entries_by_platform`],
  actor: [sql`operator_id`, sql`operator_entries indexed by operator_entries_by_operator`],
  action: [sql`action`, sql`operator_entries indexed by operator_entries_by_action`],
} as const satisfies Record<keyof OperatorFilter, readonly [column: SQL, source: SQL]>;

/** The first filter is found by its index, and the others are compared row by row. `below`: the number after which the page continues. */
export function toOperatorRange(filter: OperatorFilter, below: number | null): Range {
  const given = (Object.keys(OPERATOR_INDEXES) as (keyof OperatorFilter)[]).filter(
    (name) => filter[name] !== undefined,
  );
  const [first, ...others] = given;
  const equals = (name: keyof OperatorFilter) => sql`${OPERATOR_INDEXES[name][0]} = ${filter[name]}`;
  return {
    source: first === undefined ? sql`operator_entries` : OPERATOR_INDEXES[first][1],
    keys: first === undefined ? [] : [equals(first)],
    below: sql`${below ?? Number.MAX_SAFE_INTEGER}`,
    rest: others.map(equals),
  };
}

const operatorColumns = selectBareColumns(operatorEntries);

export const readOperatorEntries = (db: Database, range: Range, limit: number) =>
  readLogPage(db, findLogRows<OperatorEntryRow>(db, operatorColumns, range, limit), range, limit);

// ---- Events --------------------------------------------------------------------------------------------------------------

/** The events without `seq`, which SQLite assigns: a statement that names the column, even as null, reads one row more for each event. */
const newEvents = sqliteTable("events", eventColumns);

type Event = typeof newEvents.$inferInsert;
const compiledEventInsert = compileInsert((db) => db.insert(newEvents));
export const insertEvent = (db: Database, row: Event): Statement => ({
  statement: compiledEventInsert(db, row),
  notifies: {},
});

type EventOfOne = Pick<Event, "platformId" | "environment" | "id" | "object" | "previous" | "agentDid" | "subject">;

export const insertEvents = (
  db: Database,
  { at, type }: { readonly at: number; readonly type: string },
  each: readonly EventOfOne[],
): Statement[] =>
  splitIntoParts(
    each.map((row) => [
      row.platformId,
      row.environment,
      row.id,
      row.object,
      row.previous,
      row.agentDid,
      row.subject ?? null,
    ]),
  ).map(({ rows }) => ({
    statement: db.insert(newEvents).select(
      sql`select value ->> 0, value ->> 1, value ->> 2, ${type}, ${at}, value -> 3, nullif(value -> 4, 'null'), value ->> 5, null,
          value ->> 6, null from ${rows}`,
    ),
    notifies: {},
  }));

export const findEventsOf = (db: Database, platformId: string, slice: number): Read<number[]> =>
  read(
    db
      .select({ seq: sql<number>`seq` })
      .from(
        sql`(select seq from events indexed by events_by_tenant where listed = 1 and platform_id = ${platformId}
          union all select seq from events not indexed where seq > ${selectMark("listed")} and platform_id = ${platformId})`,
      )
      .limit(slice),
    (rows) => rows.map(({ seq }) => seq),
  );

export const deleteEvents = (db: Database, seqs: readonly number[]): Statement =>
  db.delete(events).where(isOneOf(events.seq, seqs));

export const markListed = (db: Database, after: number, to: number): Statement =>
  db.update(events).set({ listed: 1 }).where(sql`${events.seq} > ${after} and ${events.seq} <= ${to}`);

// ---- The outbox (EVT-4) --------------------------------------------------------------------------------------------------

/** Each mark follows the events on its own: for the subscribers, for the event list, and for webhooks. */
type Mark = "all" | "listed" | "webhooks";

export const findMark = (db: Database, name: Mark = "all"): Read<{ seq: number } | null> =>
  readOne(db.select({ seq: outbox.seq }).from(outbox).where(eq(outbox.name, name)));

export const selectMark = (name: Mark): SQL => sql`coalesce((select seq from outbox where name = ${name}), 0)`;

export const findNewEvents = (db: Database, limit: number): Read<EventRow[]> =>
  readAll(
    db
      .select()
      .from(events)
      .where(sql`${events.seq} > ${selectMark("all")}`)
      .orderBy(asc(events.seq))
      .limit(limit),
  );

/** Moves the mark. Only one of two runs that delivered the same events succeeds. */
export const moveMark = (db: Database, from: number, to: number, name: Mark = "all"): Statement[] =>
  mustChange(
    db,
    db
      .insert(outbox)
      .values({ name, seq: to })
      .onConflictDoUpdate({ target: outbox.name, set: { seq: to }, setWhere: eq(outbox.seq, from) }),
  );
