// Brings the local database up to date and puts the demo platform into it: an accredited account that is not promoted to production yet,
// its tenant principal and its sandbox key (of which only the hash is stored). `node scripts/database.ts <state> <secrets file>`.
import { devNull } from "node:os";
import { join } from "node:path";
import { readD1Migrations } from "@cloudflare/vitest-plugin";
import { getPlatformProxy } from "wrangler";
import { keyPrefixOf } from "../src/accounts/management-key.ts";
import type { Env } from "../src/context.ts";
import { sha256Hex } from "../src/core/encoding.ts";
import { openDatabase } from "../src/db/batch.ts";
import { seedPlatform } from "./platform.ts";
import { loadSecrets, type Secrets } from "./secrets.ts";

const root = join(import.meta.dirname, "..");
/** Where wrangler keeps what is applied, so that `wrangler d1 migrations` goes on from here. */
const APPLIED = `create table if not exists d1_migrations (
  id integer primary key autoincrement, name text unique, applied_at timestamp default current_timestamp not null)`;

const [, , state = "", secretsFile = ""] = process.argv;
const proxy = await getPlatformProxy<Pick<Env, "DB">>({
  configPath: join(root, "wrangler.toml"),
  persist: { path: join(state, "v3") },
  // An empty list would load .dev.vars, which may belong to another stack or user.
  envFiles: [devNull],
  remoteBindings: false,
});
try {
  await migrate(proxy.env.DB);
  await seed(proxy.env.DB, loadSecrets(secretsFile).platform);
} finally {
  await proxy.dispose();
}

/** As `wrangler d1 migrations apply`, which starts a runtime for each file and takes a second for it. */
async function migrate(d1: D1Database): Promise<void> {
  await d1.prepare(APPLIED).run();
  const { results } = await d1.prepare("select name from d1_migrations").all<{ name: string }>();
  const applied = new Set(results.map(({ name }) => name));
  for (const { name, queries } of await readD1Migrations(join(root, "migrations"))) {
    if (applied.has(name)) continue;
    const note = d1.prepare("insert into d1_migrations (name) values (?)").bind(name);
    await d1.batch([...queries.map((query) => d1.prepare(query)), note]).catch((cause) => {
      throw new Error(`${name}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    });
  }
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
