// Platforms and their management keys.
import { and, desc, eq, lt, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, readOne } from "../db/batch.ts";
import { managementKeys, platforms } from "../db/tables.ts";

export type KeyOwner = {
  platformId: string;
  environment: string;
  keyPrefix: string;
  expiresAt: number | null;
  platformStatus: string;
  accreditationTier: string;
};

/** The first statement of every management call: who owns the presented key, and may it still be used. */
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
      })
      .from(managementKeys)
      .innerJoin(platforms, eq(platforms.platformId, managementKeys.platformId))
      .where(eq(managementKeys.keyHash, keyHash)),
  );

/** The owner of a key as an expression, so that reads can be scoped before the owner is known. */
export const ownerOf = (keyHash: string): SQL<string> =>
  sql<string>`(select platform_id from management_keys where key_hash = ${keyHash})`;

export type PlatformRow = typeof platforms.$inferSelect;

export const findPlatform = (db: Database, platformId: string | SQL<string>): Read<PlatformRow | null> =>
  readOne(db.select().from(platforms).where(eq(platforms.platformId, platformId)));

/** For the operator: newest first; ids are time-ordered, so the id is the whole keyset. */
export const listPlatforms = (
  db: Database,
  status: string | undefined,
  page: { limit: number; afterId: string | null },
): Read<PlatformRow[]> =>
  readAll(
    db
      .select()
      .from(platforms)
      .where(
        and(
          status === undefined ? undefined : eq(platforms.status, status),
          page.afterId === null ? undefined : lt(platforms.platformId, page.afterId),
        ),
      )
      .orderBy(desc(platforms.platformId))
      .limit(page.limit + 1),
  );
