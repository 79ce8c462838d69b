// Store of how far each feed is hashed and signed (DIR-13, DIR-14), and of its pruning (DIR-12).
import { and, asc, desc, eq, gte, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, mustChange, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { splitIntoParts } from "../db/parts.ts";
import {
  type ChangeRow,
  type DirectoryHeadRow,
  directoryChanges,
  directoryFeeds,
  directoryHashes,
  directoryHeads,
  type FeedRow,
} from "../db/tables/directory.ts";
import { deleteChanges } from "../journal/directory-store.ts";
import { FIRST_HASH } from "../protocol/running-hash.ts";
import { findSeqAt, NOTED_EACH } from "./change-store.ts";

export const findFeed = (db: Database, environment: Environment): Read<FeedRow | null> =>
  readOne(db.select().from(directoryFeeds).where(eq(directoryFeeds.environment, environment)));

/** Inserts the feed's row unless it exists. */
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

/** The newest head, or the first one that covers a record. */
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
