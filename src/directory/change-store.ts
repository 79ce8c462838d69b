// Store of the reads of the change feed (DIR-11). A page of n records reads n rows and a few more, wherever it begins.
import { and, asc, eq, gt, gte, type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, type Read, read, readAll, readOne } from "../db/batch.ts";
import { limitWhile } from "../db/pages.ts";
import { type ChangeRow, directoryChanges, directoryFeeds } from "../db/tables/directory.ts";

/** Where a page begins: at a record that was read already, after a number, or after an instant (epoch milliseconds). */
export type Start = { readonly read: number } | { readonly behind: number } | { readonly after: number };

const { environment: of, seq, occurredAt } = directoryChanges;

/** With `read`, the page begins with the record that was read last, unless it is gone; otherwise with the records after the place. */
export const findChanges = (db: Database, environment: Environment, start: Start, limit: number): Read<ChangeRow[]> =>
  readAll(
    db
      .select()
      .from(directoryChanges)
      .where(and(eq(of, environment), ...startsAt(environment, start)))
      .orderBy(asc(seq))
      .limit("read" in start ? limit + 1 : limit),
  );

function startsAt(environment: Environment, start: Start): SQL[] {
  if ("read" in start) return [gte(seq, start.read)];
  if ("behind" in start) return [gt(seq, start.behind)];
  return [gt(seq, findSeqAt(environment, start.after)), gt(occurredAt, start.after)];
}

/** A job notes the instant and hash of the first record, and of every sixteenth record after it. */
export const NOTED_EACH = 16;

/**
 * The number of the last record up to an instant, as an expression: a binary search below the first later record that is noted, or after the last
 * noted one, because instants rise with the numbers. A missing record leads to an earlier number, so the caller compares instants from there.
 * `known`: the number of an existing record that is not later.
 */
export const findSeqAt = (environment: Environment, instant: number, known = sql`0`): SQL => {
  const noted = sql`select h.seq as high, h.seq - ${NOTED_EACH} as low from directory_hashes h where h.environment = ${environment}`;
  const later = sql`select * from (${noted} and h.occurred_at > ${instant} order by h.occurred_at limit 1)`;
  const behind = sql`select coalesce((select max(seq) + 1 from directory_changes where environment = ${environment}), 0),
    coalesce((select high from (${noted} order by h.occurred_at desc limit 1)), 0)`;
  const isBefore = sql`(select c.occurred_at <= ${instant} from directory_changes c where c.environment = ${environment} and c.seq = low + size / 2)`;
  return sql`(with recursive half(low, size) as (
    select max(low, ${known}), high - max(low, ${known}) from (${later} union all ${behind} limit 1)
    union all select low + size / 2 * coalesce(${isBefore}, 0), size - size / 2 from half where size > 1)
    select low from half where size <= 1)`;
};

export const findLastChange = (db: Database, environment: Environment): Read<ChangeRow | null> =>
  readOne(db.select().from(directoryChanges).where(eq(of, environment)).orderBy(sql`${seq} desc`).limit(1));

/** The number of the last pruned record; 0 if the page begins at a record that still exists, because then nothing after it is gone. */
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
