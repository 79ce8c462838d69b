// Migrates the local database and seeds the demo platform: an accredited account that is not promoted to production yet, its tenant principal, and
// its sandbox key, stored as a hash. `node scripts/database.ts <state> <secrets file>`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { getPlatformProxy, unstable_readConfig } from "wrangler";
import { takeKeyPrefix } from "../src/accounts/keys.ts";
import type { Env } from "../src/context.ts";
import { computeSha256Hex } from "../src/core/encoding.ts";
import { openDatabase } from "../src/db/batch.ts";
import { assertKnown, readMigrations } from "./migration-files.ts";
import { seedPlatform } from "./platform.ts";
import { loadSecrets, type Secrets } from "./secrets.ts";

const root = join(import.meta.dirname, "..");
/** The table in which wrangler records applied migrations, so that `wrangler d1 migrations` continues from here. */
const APPLIED = `create table if not exists d1_migrations (
  id integer primary key autoincrement, name text unique, applied_at timestamp default current_timestamp not null)`;

const [, , state = "", secretsFile = ""] = process.argv;
const proxy = await openDatabaseIn(join(state, "v3"));
try {
  await migrate(proxy.env.DB);
  await seed(proxy.env.DB, loadSecrets(secretsFile).platform);
} finally {
  await proxy.dispose();
}

/**
 * Opens the database with settings that name nothing else. With all of wrangler.toml, wrangler would warn of Durable Objects that do not run here,
 * and would load `.dev.vars`, which may belong to another stack or user.
 */
async function openDatabaseIn(folder: string) {
  const { name, compatibility_date, d1_databases } = unstable_readConfig({ config: join(root, "wrangler.toml") });
  const configPath = join(folder, "database.json");
  mkdirSync(folder, { recursive: true });
  writeFileSync(configPath, JSON.stringify({ name, compatibility_date, d1_databases }));
  return getPlatformProxy<Pick<Env, "DB">>({ configPath, persist: { path: folder }, remoteBindings: false });
}

/** Does what `wrangler d1 migrations apply` does, which starts a runtime for each file and takes a second for it. */
async function migrate(d1: D1Database): Promise<void> {
  await d1.prepare(APPLIED).run();
  const { results } = await d1.prepare("select name from d1_migrations").all<{ name: string }>();
  const applied = new Set(results.map(({ name }) => name));
  assertKnown([...applied]);
  for (const { name, statements } of readMigrations()) {
    if (applied.has(name)) continue;
    const note = d1.prepare("insert into d1_migrations (name) values (?)").bind(name);
    await d1.batch([...statements.map((statement) => d1.prepare(statement)), note]).catch((cause) => {
      throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    });
  }
}

async function seed(d1: D1Database, platform: Secrets["platform"]): Promise<void> {
  const { platform_id: platformId, tenant_principal_id: tenantPrincipalId, sandbox_key: key } = platform;
  const keyHash = await computeSha256Hex(key);
  await seedPlatform(openDatabase(d1), {
    platformId,
    tenantPrincipalId,
    name: "Demo Platform GmbH",
    email: "demo@platform.example",
    keys: [{ keyHash, keyPrefix: takeKeyPrefix(key), environment: "sandbox" }],
  });
}
