// Store of the reading of the change feed (DIR-11). A page of n records reads n rows and a few, from wherever it begins.
import { and, asc, eq, gt, gte, type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read, readAll, readOne } from "../db/batch.ts";
import { limitWhile } from "../db/pages.ts";
import { type ChangeRow, directoryChanges, directoryFeeds } from "../db/tables/directory.ts";

/** Where a page begins: at a record that was read, behind a number, or behind an instant (epoch milliseconds). */
export type Start = { readonly read: number } | { readonly behind: number } | { readonly after: number };

const { environment: of, seq, occurredAt } = directoryChanges;

/** From the record that was read on, which is still the first of them unless it is gone; else those that follow. */
export const findChanges = (db: Database, environment: Environment, start: Start, limit: number): Read<ChangeRow[]> =>
  readAll(
    db
      .select()
      .from(directoryChanges)
      .where(and(eq(of, environment), ...beginning(environment, start)))
      .orderBy(asc(seq))
      .limit("read" in start ? limit + 1 : limit),
  );

function beginning(environment: Environment, start: Start): SQL[] {
  if ("read" in start) return [gte(seq, start.read)];
  if ("behind" in start) return [gt(seq, start.behind)];
  return [gt(seq, placeOf(environment, start.after)), gt(occurredAt, start.after)];
}

/**
 * The number of the last record up to an instant, as an expression: the one before the first later one that a job has noted, or in what it has not
 * noted yet found by halves, because instants rise with the numbers. A record that is missing leads to an earlier one, behind which the instants
 * are compared.
 */
const placeOf = (environment: Environment, instant: number): SQL => {
  const middle = sql`(low + high) / 2`;
  const isBefore = sql`(select c.occurred_at <= ${instant} from directory_changes c where c.environment = ${environment} and c.seq = ${middle})`;
  const noted = sql`select i.seq from directory_instants i where i.environment = ${environment}`;
  return sql`coalesce((${noted} and i.occurred_at > ${instant} order by i.occurred_at limit 1) - 1, (with recursive half(low, high) as (
    select coalesce((${noted} order by i.occurred_at desc limit 1), 0),
      coalesce((select max(seq) from directory_changes where environment = ${environment}), 0) + 1
    union all
    select case when ${isBefore} then ${middle} else low end, case when ${isBefore} then high else ${middle} end
      from half where high - low > 1)
    select low from half where high - low <= 1))`;
};

export const findLastChange = (db: Database, environment: Environment): Read<ChangeRow | null> =>
  readOne(db.select().from(directoryChanges).where(eq(of, environment)).orderBy(sql`${seq} desc`).limit(1));

/** The number of the last record that is gone. Where the page begins at a record that is still there, nothing behind it is gone. */
export const findPruned = (db: Database, environment: Environment, start: Start): Read<number> => {
  const gone =
    "read" in start
      ? sql`not exists (select 1 from directory_changes c where c.environment = ${environment} and c.seq = ${start.read})`
      : undefined;
  return read(
    db
      .select({ prunedTo: directoryFeeds.prunedTo })
      .from(directoryFeeds)
      .where(eq(directoryFeeds.environment, environment))
      .limit(limitWhile(gone, 1)),
    ([row]) => row?.prunedTo ?? 0,
  );
};
