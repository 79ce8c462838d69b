// Store of each account's volume on its last day, to which each batch adds (EVT-35), and of each activity log's chain: how far it is hashed, and its
// signed heads (EVT-12, EVT-13).
import { and, asc, eq, getTableColumns, gte, lte, type SQL, sql } from "drizzle-orm";
import type { Due } from "../core/clock.ts";
import { DAY_MS } from "../core/limits.ts";
import type { AskedRows } from "../core/page.ts";
import type { Environment } from "../core/vocabulary.ts";
import { toVolumeDay, type VolumeMark, type VolumeMarks } from "../core/volume.ts";
import { type Database, mustChange, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { isOneOf } from "../db/lists.ts";
import { readNewest } from "../db/pages.ts";
import { splitIntoParts } from "../db/parts.ts";
import { platforms } from "../db/tables/accounts.ts";
import {
  accountVolumes,
  activityChains,
  activityHeads,
  type ChainRow,
  type HeadRow,
  type VolumeRow,
} from "../db/tables/journal.ts";
import { FIRST_HASH } from "../protocol/running-hash.ts";

// ---- Volumes (EVT-35) ----------------------------------------------------------------------------------------------------

export type VolumeCounts = Omit<VolumeRow, "platformId" | "day">;
/** `volume`: null before the account's first event. */
export type FoundVolume = {
  readonly platformId: string;
  readonly marks: VolumeMarks | null;
  readonly volume: Omit<VolumeRow, "platformId"> | null;
};

export function findVolume(db: Database, platformId: string): Read<FoundVolume | null> {
  const { statement, map } = findVolumes(db, [platformId]);
  return { statement, map: (rows) => map(rows)[0] ?? null };
}

export function findVolumes(db: Database, platformIds: readonly string[]): Read<FoundVolume[]> {
  // A batch returns rows as objects, so no column name may occur twice.
  const { platformId: _owner, ...volume } = getTableColumns(accountVolumes);
  return readAll(
    db
      .select({ platformId: platforms.platformId, marks: platforms.volumeMarks, volume })
      .from(platforms)
      .leftJoin(accountVolumes, eq(accountVolumes.platformId, platforms.platformId))
      .where(isOneOf(platforms.platformId, [...new Set(platformIds)])),
  );
}

/** Adds to the counts of the day; a later day begins with zeros. */
export const addVolumes = (
  db: Database,
  added: readonly (Partial<VolumeCounts> & Pick<VolumeRow, "platformId">)[],
  now: number,
): Statement[] =>
  splitIntoParts(added.map((one) => [one.platformId, ...COUNT_COLUMNS.map(([key]) => one[key] ?? 0)])).map(({ rows }) =>
    db
      .insert(accountVolumes)
      .select(
        sql`select value ->> 0, ${toVolumeDay(now)}, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7
          from ${rows} where true`,
      )
      .onConflictDoUpdate({
        target: accountVolumes.platformId,
        set: {
          day: sql`max(day, excluded.day)`,
          ...Object.fromEntries(
            COUNT_COLUMNS.map(([key, name]) => {
              const column = sql.raw(name);
              return [key, sql`iif(excluded.day > day, 0, account_volumes.${column}) + excluded.${column}`];
            }),
          ),
        },
      }),
  );

const COUNT_COLUMNS = [
  ["sandboxEvents", "sandbox_events"],
  ["sandboxDeliveries", "sandbox_deliveries"],
  ["sandboxBytes", "sandbox_bytes"],
  ["productionEvents", "production_events"],
  ["productionDeliveries", "production_deliveries"],
  ["productionBytes", "production_bytes"],
  ["mails", "mails"],
] as const satisfies readonly (readonly [keyof VolumeCounts, string])[];

export const markVolume = (db: Database, platformId: string, environment: Environment, mark: VolumeMark): Statement =>
  db
    .update(platforms)
    .set({
      volumeMarks: sql`json_set(coalesce(${platforms.volumeMarks}, '{}'), ${`$.${environment}`}, json(${JSON.stringify(mark)}))`,
    })
    .where(eq(platforms.platformId, platformId));

export const deleteVolumes = (db: Database, platformIds: SQL): Statement =>
  db.delete(accountVolumes).where(sql`${accountVolumes.platformId} in ${platformIds}`);

// ---- Chains (EVT-12) -----------------------------------------------------------------------------------------------------

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
      .set({ checkAt: now + DAY_MS, headSeq })
      .where(and(eq(activityChains.platformId, chain.platformId), eq(activityChains.checkAt, chain.checkAt))),
  );

export const deleteChains = (db: Database, platformIds: SQL): Statement[] => [
  db.delete(activityHeads).where(sql`${activityHeads.platformId} in ${platformIds}`),
  db.delete(activityChains).where(sql`${activityChains.platformId} in ${platformIds}`),
];

// ---- Heads (EVT-13) ------------------------------------------------------------------------------------------------------

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
