// Store of platform accounts and their management keys.
import { and, desc, eq, getTableColumns, lt, type SQL, sql } from "drizzle-orm";
import type { Position } from "../core/page.ts";
import type { Environment, PlatformStatus, Tier } from "../core/vocabulary.ts";
import { type Database, type Read, readAll, readOne } from "../db/batch.ts";
import { managementKeys, type PlatformRow, platforms } from "../db/tables/accounts.ts";

export type KeyOwner = {
  platformId: string;
  environment: Environment;
  keyPrefix: string;
  expiresAt: number | null;
  platformStatus: PlatformStatus;
  accreditationTier: Tier;
  clockOffsetMs: number;
};

/** Finds the owner of the presented key and the key's end: a read of every management call (CRED-8). */
export const findKeyOwner = (db: Database, keyHash: string): Read<KeyOwner | null> =>
  readOne(
    db
      .select({
        platformId: managementKeys.platformId,
        environment: managementKeys.environment,
        keyPrefix: managementKeys.keyPrefix,
        expiresAt: managementKeys.expiresAt,
        platformStatus: platforms.status,
        accreditationTier: platforms.accreditationTier,
        clockOffsetMs: platforms.clockOffsetMs,
      })
      .from(managementKeys)
      .innerJoin(platforms, eq(platforms.platformId, managementKeys.platformId))
      .where(eq(managementKeys.keyHash, keyHash)),
  );

/** The owner of a key as an expression, so that reads can be scoped before the owner is known. */
export const ownerOf = (keyHash: string): SQL<string> =>
  sql<string>`(select platform_id from management_keys where key_hash = ${keyHash})`;

export const findPlatform = (db: Database, platformId: string | SQL<string>): Read<PlatformRow | null> =>
  readOne(db.select().from(platforms).where(eq(platforms.platformId, platformId)));

/** The columns of a page: those that a platform shows. */
const { clockOffsetMs: _offset, updatedAt: _updated, ...listed } = getTableColumns(platforms);
export type ListedPlatform = Pick<PlatformRow, keyof typeof listed>;

/** For the operator: newest first; ids are time-ordered, so the id is the whole keyset. */
export const listPlatforms = (
  db: Database,
  status: PlatformStatus | undefined,
  page: { limit: number; after: Position | null },
): Read<ListedPlatform[]> =>
  readAll(
    db
      .select(listed)
      .from(platforms)
      .where(
        and(
          status === undefined ? undefined : eq(platforms.status, status),
          page.after === null ? undefined : lt(platforms.platformId, page.after.id),
        ),
      )
      .orderBy(desc(platforms.platformId))
      .limit(page.limit + 1),
  );
