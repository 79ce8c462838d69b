// Store of how far each activity log is hashed, and of its signed heads (EVT-12, EVT-13).
import { and, asc, eq, gte, lte, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/due.ts";
import { DAY_MS } from "../core/limits.ts";
import type { AskedRows } from "../core/page.ts";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { readNewest } from "../db/pages.ts";
import { activityChains, activityHeads, type ChainRow, type HeadRow } from "../db/tables/journal.ts";
import { FIRST_HASH } from "../protocol/running-hash.ts";

export const CHECK_MS = DAY_MS;

/** Begins the chain of a new platform, in the batch that creates it; its first head follows within a minute. An existing chain stays as it is. */
export const beginChain = (db: Database, platformId: string, now: number): Statement =>
  db
    .insert(activityChains)
    .values({ platformId, seq: 0, hash: FIRST_HASH, headSeq: 0, checkAt: now })
    .onConflictDoNothing();

export const findChain = (db: Database, platformId: string): Read<ChainRow | null> =>
  readOne(db.select().from(activityChains).where(eq(activityChains.platformId, platformId)));

type Link = { readonly seq: number; readonly hash: string };

/** Moves the chain on. Only one of two runs that hashed the same entries succeeds. */
export const moveChain = (db: Database, platformId: string, from: number, to: Link): Statement[] =>
  mustChange(
    db,
    db
      .update(activityChains)
      .set({ seq: to.seq, hash: to.hash })
      .where(and(eq(activityChains.platformId, platformId), eq(activityChains.seq, from))),
  );

/** The chains whose check is due, oldest first. */
export const findDueChains = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: activityChains.checkAt, id: activityChains.platformId })
      .from(activityChains)
      .where(
        and(
          lte(activityChains.checkAt, now),
          sql`(${activityChains.checkAt}, ${activityChains.platformId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(activityChains.checkAt), asc(activityChains.platformId))
      .limit(limit),
  );

/** Notes the check and the newest head. Only one of two runs succeeds. */
export const recordChecked = (db: Database, chain: ChainRow, now: number, headSeq: number): Statement[] =>
  mustChange(
    db,
    db
      .update(activityChains)
      .set({ checkAt: now + CHECK_MS, headSeq })
      .where(and(eq(activityChains.platformId, chain.platformId), eq(activityChains.checkAt, chain.checkAt))),
  );

/** For accounts whose address was never verified. */
export const deleteChains = (db: Database, platformIds: SQL): Statement[] => [
  db.delete(activityHeads).where(sql`${activityHeads.platformId} in ${platformIds}`),
  db.delete(activityChains).where(sql`${activityChains.platformId} in ${platformIds}`),
];

// ---- Heads ---------------------------------------------------------------------------------------------------------------

export const insertHead = (db: Database, head: HeadRow): Statement => db.insert(activityHeads).values(head);

export const listHeads = (db: Database, platformId: string | SQL<string>, page: AskedRows): Read<HeadRow[]> =>
  readNewest(
    db,
    { table: activityHeads, where: eq(activityHeads.platformId, platformId), at: activityHeads.seq },
    page,
  );

export const findHeadsFrom = (db: Database, platformId: string, from: number, limit: number): Read<HeadRow[]> =>
  readAll(
    db
      .select()
      .from(activityHeads)
      .where(and(eq(activityHeads.platformId, platformId), gte(activityHeads.seq, from)))
      .orderBy(asc(activityHeads.seq))
      .limit(limit),
  );
