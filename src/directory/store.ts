// Store of the change feed: its reads (DIR-11), how far it is hashed and signed (DIR-13, DIR-14), and its pruning (DIR-12). Also of the terms by which
// entries are found (DIR-9), and of the number of entries that have each. A page of n records reads n rows and a few more, wherever it begins.
import { and, asc, desc, eq, gt, gte, type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { limitWhile } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import {
  type ChangeRow,
  type DirectoryHeadRow,
  directoryChanges,
  directoryFeeds,
  directoryHashes,
  directoryHeads,
  directoryTermCounts,
  directoryTerms,
  type FeedRow,
} from "../db/tables/directory.ts";
import { deleteChanges } from "../journal/directory-store.ts";
import { FIRST_HASH } from "../protocol/running-hash.ts";

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

// ---- Hashing ------------------------------------------------------------------------------------------------------------

export const findFeed = (db: Database, environment: Environment): Read<FeedRow | null> =>
  readOne(db.select().from(directoryFeeds).where(eq(directoryFeeds.environment, environment)));

export const beginFeed = (db: Database, environment: Environment): Statement =>
  db
    .insert(directoryFeeds)
    .values({ environment, seq: 0, hash: FIRST_HASH, headSeq: 0, prunedTo: 0 })
    .onConflictDoNothing();

/** Succeeds for one of two runs that hashed the same records. */
export const moveFeed = (
  db: Database,
  environment: Environment,
  from: number,
  to: { readonly seq: number; readonly hash: string },
): Statement[] =>
  mustChange(
    db,
    db
      .update(directoryFeeds)
      .set({ seq: to.seq, hash: to.hash })
      .where(and(eq(directoryFeeds.environment, environment), eq(directoryFeeds.seq, from))),
  );

export const findUnhashedChanges = (db: Database, environment: Environment, limit: number): Read<ChangeRow[]> =>
  readAll(
    db
      .select()
      .from(directoryChanges)
      .where(
        and(
          eq(directoryChanges.environment, environment),
          sql`seq > coalesce((select f.seq from directory_feeds f where f.environment = ${environment}), 0)`,
        ),
      )
      .orderBy(asc(directoryChanges.seq))
      .limit(limit),
  );

export const recordHashes = (
  db: Database,
  environment: Environment,
  each: readonly { readonly row: ChangeRow; readonly hash: string }[],
): Statement[] => {
  const noted = each.filter(({ row }) => row.seq % NOTED_EACH === 1);
  return splitIntoParts(noted.map(({ row, hash }) => [row.occurredAt, row.seq, hash])).map(({ rows }) =>
    db
      .insert(directoryHashes)
      .select(sql`select ${environment}, value ->> 0, value ->> 1, value ->> 2 from ${rows} where true`)
      // After all records were pruned, a new record can have the instant of an older one that ran ahead of the clock.
      .onConflictDoUpdate({
        target: [directoryHashes.environment, directoryHashes.occurredAt],
        set: { seq: sql`excluded.seq`, hash: sql`excluded.hash` },
      }),
  );
};

/** The instant of the first record that no head covers; null if all are covered. */
export const findUnsignedSince = (db: Database, environment: Environment): Read<number | null> =>
  read(
    db
      .select({ occurredAt: directoryChanges.occurredAt })
      .from(directoryChanges)
      .where(
        and(
          eq(directoryChanges.environment, environment),
          sql`seq > coalesce((select f.head_seq from directory_feeds f where f.environment = ${environment}), 0)`,
        ),
      )
      .orderBy(asc(directoryChanges.seq))
      .limit(1),
    ([row]) => row?.occurredAt ?? null,
  );

// ---- Heads ---------------------------------------------------------------------------------------------------------------

export const insertDirectoryHead = (db: Database, head: DirectoryHeadRow, from: number): Statement[] => [
  ...mustChange(
    db,
    db
      .update(directoryFeeds)
      .set({ headSeq: head.seq })
      .where(and(eq(directoryFeeds.environment, head.environment), eq(directoryFeeds.headSeq, from))),
  ),
  db.insert(directoryHeads).values(head),
];

export const findHead = (
  db: Database,
  environment: Environment,
  covers: number | undefined,
): Read<DirectoryHeadRow | null> =>
  readOne(
    db
      .select()
      .from(directoryHeads)
      .where(
        and(
          eq(directoryHeads.environment, environment),
          covers === undefined ? undefined : gte(directoryHeads.seq, covers),
        ),
      )
      .orderBy(covers === undefined ? desc(directoryHeads.seq) : asc(directoryHeads.seq))
      .limit(1),
  );

// ---- Pruning -------------------------------------------------------------------------------------------------------------

/** The numbers of the oldest records, at most `limit`, that are older than an instant; null if there are none. */
export const findPrunableRecords = (
  db: Database,
  environment: Environment,
  before: number,
  limit: number,
): Read<{ readonly first: number; readonly last: number; readonly oldest: number } | null> =>
  readOne(
    db
      .select({
        first: sql<number>`first.seq`.as("first"),
        last: sql<number>`min(first.seq + ${limit - 1}, ${findSeqAt(environment, before - 1, sql`first.seq`)})`.as(
          "last",
        ),
        oldest: sql<number>`first.occurred_at`.as("oldest"),
      })
      .from(
        sql`(select seq, occurred_at from directory_changes where environment = ${environment} order by seq limit 1) first`,
      )
      .where(sql`first.occurred_at < ${before}`),
  );

/** Deletes records; their noted hashes and the heads stay. */
export const pruneChanges = (db: Database, environment: Environment, from: number, to: number): Statement[] => [
  ...mustChange(
    db,
    db
      .update(directoryFeeds)
      .set({ prunedTo: to })
      .where(and(eq(directoryFeeds.environment, environment), eq(directoryFeeds.prunedTo, from))),
  ),
  deleteChanges(db, environment, to),
];

// ---- Terms --------------------------------------------------------------------------------------------------------------

export function addTerms(db: Database, did: string, terms: readonly string[]): Statement[] {
  const rows = splitIntoParts(terms.map((term) => [term]));
  return [
    ...rows.map((part) => db.insert(directoryTerms).select(sql`select value ->> 0, ${did} from ${part.rows}`)),
    ...rows.map((part) =>
      db
        .insert(directoryTermCounts)
        .select(sql`select value ->> 0, 1 from ${part.rows} where true`)
        .onConflictDoUpdate({
          target: directoryTermCounts.term,
          set: { entries: sql`${directoryTermCounts.entries} + 1` },
        }),
    ),
  ];
}

export const dropTerms = (db: Database, did: string, terms: readonly string[]): Statement[] =>
  splitIntoParts(terms.map((term) => [term])).flatMap(({ rows }) => {
    const gone = sql`(select value ->> 0 from ${rows})`;
    return [
      db.delete(directoryTerms).where(and(sql`${directoryTerms.term} in ${gone}`, eq(directoryTerms.did, did))),
      db
        .update(directoryTermCounts)
        .set({ entries: sql`${directoryTermCounts.entries} - 1` })
        .where(sql`${directoryTermCounts.term} in ${gone}`),
    ];
  });
