// Store of the operators' log. An entry's number is the row's own key, assigned in the batch.
import { type SQL, sql } from "drizzle-orm";
import type { OperatorAction } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { selectBareColumns } from "../db/pages.ts";
import { type OperatorEntryRow, operatorEntries } from "../db/tables/journal.ts";
import { findLogRows, type Range, readLogPage } from "./log-store.ts";

export const insertOperatorEntry = (db: Database, row: Omit<OperatorEntryRow, "seq">): Statement =>
  db.insert(operatorEntries).values(row);

export type OperatorFilter = {
  readonly platformId?: string | undefined;
  readonly actor?: string | undefined;
  readonly action?: OperatorAction | undefined;
};

const INDEXES = {
  platformId: [sql`platform_id`, sql`operator_entries indexed by operator_entries_by_platform`],
  actor: [sql`operator_id`, sql`operator_entries indexed by operator_entries_by_operator`],
  action: [sql`action`, sql`operator_entries indexed by operator_entries_by_action`],
} as const satisfies Record<keyof OperatorFilter, readonly [column: SQL, source: SQL]>;

/** The first filter is found by its index, and the others are compared row by row. `below`: the number after which the page continues. */
export function toOperatorRange(filter: OperatorFilter, below: number | null): Range {
  const given = (Object.keys(INDEXES) as (keyof OperatorFilter)[]).filter((name) => filter[name] !== undefined);
  const [first, ...others] = given;
  const equals = (name: keyof OperatorFilter) => sql`${INDEXES[name][0]} = ${filter[name]}`;
  return {
    source: first === undefined ? sql`operator_entries` : INDEXES[first][1],
    keys: first === undefined ? [] : [equals(first)],
    below: sql`${below ?? Number.MAX_SAFE_INTEGER}`,
    rest: others.map(equals),
  };
}

const columns = selectBareColumns(operatorEntries);

export const readOperatorEntries = (db: Database, range: Range, limit: number) =>
  readLogPage(db, findLogRows<OperatorEntryRow>(db, columns, range, limit), range, limit);
