// Store of each account's volume on its last day (EVT-35): one row per account, to which each batch adds.
import { eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Environment } from "../core/vocabulary.ts";
import { toVolumeDay, type VolumeMark, type VolumeMarks } from "../core/volume.ts";
import { type Database, type Read, readAll, type Statement } from "../db/batch.ts";
import { isOneOf } from "../db/lists.ts";
import { splitIntoParts } from "../db/parts.ts";
import { platforms } from "../db/tables/accounts.ts";
import { accountVolumes, type VolumeRow } from "../db/tables/journal.ts";

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

const NAMES = [
  ["sandboxEvents", "sandbox_events"],
  ["sandboxDeliveries", "sandbox_deliveries"],
  ["sandboxBytes", "sandbox_bytes"],
  ["productionEvents", "production_events"],
  ["productionDeliveries", "production_deliveries"],
  ["productionBytes", "production_bytes"],
  ["mails", "mails"],
] as const satisfies readonly (readonly [keyof VolumeCounts, string])[];

/** Adds to the counts of the day; a later day begins with zeros. */
export const addVolumes = (
  db: Database,
  added: readonly (Partial<VolumeCounts> & Pick<VolumeRow, "platformId">)[],
  now: number,
): Statement[] =>
  splitIntoParts(added.map((one) => [one.platformId, ...NAMES.map(([key]) => one[key] ?? 0)])).map(({ rows }) =>
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
            NAMES.map(([key, name]) => {
              const column = sql.raw(name);
              return [key, sql`iif(excluded.day > day, 0, account_volumes.${column}) + excluded.${column}`];
            }),
          ),
        },
      }),
  );

export const markVolume = (db: Database, platformId: string, environment: Environment, mark: VolumeMark): Statement =>
  db
    .update(platforms)
    .set({
      volumeMarks: sql`json_set(coalesce(${platforms.volumeMarks}, '{}'), ${`$.${environment}`}, json(${JSON.stringify(mark)}))`,
    })
    .where(eq(platforms.platformId, platformId));

export const deleteVolumes = (db: Database, platformIds: SQL): Statement =>
  db.delete(accountVolumes).where(sql`${accountVolumes.platformId} in ${platformIds}`);
