// Store of management keys.
import { and, eq, gt, isNotNull, isNull, lte, or, type SQL, sql } from "drizzle-orm";
import type { ProductionFacts } from "../core/roles.ts";
import type { Environment, Tier } from "../core/vocabulary.ts";
import type { VolumeMarks } from "../core/volume.ts";
import { type Database, guard, mustChange, type Read, read, readAll, readOne, type Statement } from "../db/batch.ts";
import { countEnded, type EndedCount, type EndingTable, isEnded } from "../db/clock.ts";
import { compileOnce } from "../db/compiled.ts";
import { type KeyRow, managementKeys, platforms } from "../db/tables/accounts.ts";
import { IS_OPEN } from "./store.ts";

export type KeyOwner = ProductionFacts & {
  readonly platformId: string;
  readonly environment: Environment;
  readonly keyPrefix: string;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly accreditationTier: Tier;
  readonly clockOffsetMs: number;
  readonly volumeMarks: VolumeMarks | null;
};

/** Finds the owner of the presented key and the key's end: a read of every management call (CRED-8). */
export const findKeyOwner = (db: Database, keyHash: string): Read<KeyOwner | null> =>
  readOne(selectKeyOwner(db, { keyHash }));

const selectKeyOwner = compileOnce((db) =>
  db
    .select({
      platformId: managementKeys.platformId,
      environment: managementKeys.environment,
      keyPrefix: managementKeys.keyPrefix,
      expiresAt: managementKeys.expiresAt,
      lastUsedAt: managementKeys.lastUsedAt,
      platformStatus: platforms.status,
      promotedAt: platforms.promotedAt,
      accreditationTier: platforms.accreditationTier,
      clockOffsetMs: platforms.clockOffsetMs,
      volumeMarks: platforms.volumeMarks,
    })
    .from(managementKeys)
    .innerJoin(platforms, eq(platforms.platformId, managementKeys.platformId))
    .where(eq(managementKeys.keyHash, sql.placeholder("keyHash"))),
);

/** The owner of a key as an expression, so that reads can be scoped before the owner is known. */
export const selectOwnerOfKey = (keyHash: string): SQL<string> =>
  sql<string>`(select platform_id from management_keys where key_hash = ${keyHash})`;

/** Refuses a batch if the key's end has changed since the call was admitted, or the account was suspended or closed (CRED-12, ACC-25). */
export const guardKey = (db: Database, keyHash: string, expiresAt: number | null): Statement =>
  guardKeyUnchanged(db, { keyHash, expiresAt });

const guardKeyUnchanged = compileOnce((db) =>
  guard(
    db,
    sql`exists (select 1 from management_keys join platforms using (platform_id)
        where key_hash = ${sql.placeholder("keyHash")} and expires_at is ${sql.placeholder("expiresAt")} and ${IS_OPEN})`,
  ),
);

export const insertKey = (db: Database, row: KeyRow): Statement => db.insert(managementKeys).values(row);

/** Keeps a use that another call has written meanwhile. */
export const touchKey = (db: Database, keyHash: string, now: number, usedBefore: number): Statement =>
  db
    .update(managementKeys)
    .set({ lastUsedAt: now })
    .where(
      and(
        eq(managementKeys.keyHash, keyHash),
        or(isNull(managementKeys.lastUsedAt), lte(managementKeys.lastUsedAt, usedBefore)),
      ),
    );

/** The working keys of an account, newest first: at most two of each environment, because a rotation ends an earlier grace. */
export const findKeys = (db: Database, platformId: string | SQL<string>, now: number): Read<KeyRow[]> =>
  read(
    db
      .select()
      .from(managementKeys)
      .where(
        and(
          eq(managementKeys.platformId, platformId),
          or(isNull(managementKeys.expiresAt), gt(managementKeys.expiresAt, now)),
        ),
      ),
    (rows) => rows.sort((a, b) => (a.keyId < b.keyId ? 1 : -1)),
  );

/** The current key of each environment that has one. */
export const findCurrentKeys = (
  db: Database,
  platformId: string | SQL<string>,
): Read<Pick<KeyRow, "environment" | "keyPrefix">[]> =>
  readAll(
    db
      .select({ environment: managementKeys.environment, keyPrefix: managementKeys.keyPrefix })
      .from(managementKeys)
      // Literal text, so that SQLite uses the partial index.
      .where(and(eq(managementKeys.platformId, platformId), sql`expires_at is null`)),
  );

/** Ends the current key, and immediately ends a key that is still in the grace of an earlier rotation. Fails if the current key is another one. */
export const endKeys = (
  db: Database,
  { platformId, environment, keyPrefix }: Pick<KeyRow, "platformId" | "environment" | "keyPrefix">,
  endsAt: number,
  now: number,
): Statement[] => {
  const own = [eq(managementKeys.platformId, platformId), eq(managementKeys.environment, environment)];
  return [
    db
      .update(managementKeys)
      .set({ expiresAt: now })
      .where(and(...own, isNotNull(managementKeys.expiresAt), gt(managementKeys.expiresAt, now))),
    ...mustChange(
      db,
      db
        .update(managementKeys)
        .set({ expiresAt: endsAt })
        .where(and(...own, isNull(managementKeys.expiresAt), eq(managementKeys.keyPrefix, keyPrefix))),
    ),
  ];
};

export const deleteKeys = (db: Database, platformId: string): Statement =>
  db.delete(managementKeys).where(eq(managementKeys.platformId, platformId));

const ENDING_KEYS: EndingTable = { table: managementKeys, key: managementKeys.keyHash, end: managementKeys.expiresAt };

export const countEndedKeys = (db: Database, by: number, most: number): Read<EndedCount> =>
  countEnded(db, ENDING_KEYS, by, most);

export const deleteEndedKeys = (db: Database, by: number, slice: number): Statement =>
  db.delete(managementKeys).where(isEnded(ENDING_KEYS, by, slice));
