// Puts the demo platform into the local database, once: an accredited account that is not promoted to production yet, its
// tenant principal and its sandbox key (of which only the hash is stored). `node scripts/seed.ts <state> <secrets file>`.
import { devNull } from "node:os";
import { join } from "node:path";
import { getPlatformProxy } from "wrangler";
import { keyPrefixOf } from "../src/accounts/management-key.ts";
import type { Env } from "../src/context.ts";
import { sha256Hex } from "../src/core/encoding.ts";
import { newId } from "../src/core/ids.ts";
import { DAY_MS } from "../src/core/limits.ts";
import { openDatabase } from "../src/db/batch.ts";
import { managementKeys, platforms } from "../src/db/tables/accounts.ts";
import { principals } from "../src/db/tables/principals.ts";
import { loadSecrets, type Secrets } from "./secrets.ts";

const NAME = "Demo Platform GmbH";
const COUNTRY = "DE";
const ATTESTED_DAYS = 365;

const [, , state = "", secretsFile = ""] = process.argv;
const proxy = await getPlatformProxy<Pick<Env, "DB">>({
  configPath: join(import.meta.dirname, "../wrangler.toml"),
  persist: { path: join(state, "v3") },
  // An empty list would load .dev.vars, which may belong to another stack or user.
  envFiles: [devNull],
  remoteBindings: false,
});
try {
  await seed(proxy.env.DB, loadSecrets(secretsFile).platform);
} finally {
  await proxy.dispose();
}

async function seed(d1: D1Database, platform: Secrets["platform"]): Promise<void> {
  const { platform_id: platformId, tenant_principal_id: tenantPrincipalId, sandbox_key: key } = platform;
  const now = Date.now();
  const stamps = { createdAt: now, updatedAt: now };
  const db = openDatabase(d1);
  await db.batch([
    db
      .insert(platforms)
      .values({
        platformId,
        status: "ACCREDITED",
        legalName: NAME,
        country: COUNTRY,
        email: "demo@platform.example",
        accreditationTier: "TIER_3",
        tenantPrincipalId,
        ...stamps,
      })
      .onConflictDoNothing(),
    db
      .insert(principals)
      .values({
        principalId: tenantPrincipalId,
        platformId,
        environment: "sandbox",
        tenant: true,
        legalName: NAME,
        nameFolded: NAME.toLowerCase(),
        country: COUNTRY,
        entityType: "company",
        externalRef: `tenant:${platformId}`,
        status: "ACTIVE",
        attestationId: newId("att", now),
        attestationVerifierId: "operator",
        attestationModel: "kyb",
        attestationTier: "TIER_3",
        attestationIssuedAt: now,
        attestationExpiresAt: now + ATTESTED_DAYS * DAY_MS,
        ...stamps,
      })
      .onConflictDoNothing(),
    db
      .insert(managementKeys)
      .values({
        keyHash: await sha256Hex(key),
        keyId: newId("key", now),
        platformId,
        environment: "sandbox",
        keyPrefix: keyPrefixOf(key),
        createdAt: now,
      })
      .onConflictDoNothing(),
  ]);
}
