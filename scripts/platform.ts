// The seed of scripts, tests and bench: a platform as if an operator had accredited it, with its own company and its keys, which are stored as
// hashes.

import { createId } from "../src/core/ids.ts";
import { DAY_MS } from "../src/core/limits.ts";
import type { Environment } from "../src/core/vocabulary.ts";
import { commit, type Database } from "../src/db/batch.ts";
import { managementKeys, platforms } from "../src/db/tables/accounts.ts";
import { principals } from "../src/db/tables/principals.ts";
import { beginChain } from "../src/journal/volume-store.ts";

export type PlatformKey = {
  readonly keyHash: string;
  readonly keyPrefix: string;
  readonly environment: Environment;
  /** The instant at which the key counts as last used. */
  readonly lastUsedAt?: number;
};
export type SeededPlatform = {
  readonly platformId: string;
  readonly tenantPrincipalId: string;
  readonly name: string;
  readonly email: string;
  readonly keys: readonly PlatformKey[];
};

const COUNTRY = "DE";
const TIER = "TIER_3";
const ATTESTED_DAYS = 365;

/** Inserts the platform's rows, and does not change existing ones. */
export async function seedPlatform(db: Database, platform: SeededPlatform): Promise<void> {
  const now = Date.now();
  const { platformId, tenantPrincipalId, name, email, keys } = platform;
  const stamps = { createdAt: now, updatedAt: now };
  const owned = { platformId, legalName: name, country: COUNTRY, ...stamps };
  await commit(db, [
    db
      .insert(platforms)
      .values({
        ...owned,
        status: "ACCREDITED",
        email,
        emailFolded: email.toLowerCase(),
        accreditationTier: TIER,
        tenantPrincipalId,
        // A platform gets its production key with its promotion.
        promotedAt: keys.some(({ environment }) => environment === "production") ? now : null,
      })
      .onConflictDoNothing(),
    db
      .insert(principals)
      .values({
        ...owned,
        principalId: tenantPrincipalId,
        environment: "sandbox",
        tenant: true,
        nameFolded: name.toLowerCase(),
        entityType: "company",
        externalRef: `tenant:${platformId}`,
        status: "ACTIVE",
        attestationId: createId("att", now),
        attestationVerifierId: "operator",
        attestationModel: "kyb",
        attestationTier: TIER,
        attestationIssuedAt: now,
        attestationExpiresAt: now + ATTESTED_DAYS * DAY_MS,
      })
      .onConflictDoNothing(),
    beginChain(db, platformId, now),
    ...keys.map((key) =>
      db
        .insert(managementKeys)
        .values({ ...key, keyId: createId("key", now), platformId, createdAt: now })
        .onConflictDoNothing(),
    ),
  ]);
}
