// Puts the demo platform into the local database, once: an accredited account that is not promoted to production yet, its
// tenant principal and its sandbox key (of which only the hash is stored). `node scripts/seed.ts <state> <secrets file>`.
import { devNull } from "node:os";
import { join } from "node:path";
import { getPlatformProxy } from "wrangler";
import { keyPrefixOf } from "../src/accounts/management-key.ts";
import type { Env } from "../src/context.ts";
import { sha256Hex } from "../src/core/encoding.ts";
import { openDatabase } from "../src/db/batch.ts";
import { seedPlatform } from "./platform.ts";
import { loadSecrets, type Secrets } from "./secrets.ts";

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
  const keyHash = await sha256Hex(key);
  await seedPlatform(openDatabase(d1), {
    platformId,
    tenantPrincipalId,
    name: "Demo Platform GmbH",
    email: "demo@platform.example",
    keys: [{ keyHash, keyPrefix: keyPrefixOf(key), environment: "sandbox" }],
  });
}
