// Starts the stage of the bench: two local chains with the contracts, the bench build of the Worker, and two accredited platforms.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestHarness, experimental_readRawConfig } from "wrangler";
import { drawSecrets, type EphemeralChain, startEphemeralChain } from "../scripts/ephemeral.ts";
import type { SeededPlatform } from "../scripts/platform.ts";
import { randomText } from "../scripts/secrets.ts";
import { generateManagementKey } from "../src/accounts/keys.ts";
import { type Network, parseNetworks } from "../src/chain/networks.ts";
import { createId } from "../src/core/ids.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { closeConnections, send } from "./wire.ts";

export type Row = Record<string, unknown>;
export type Sql = { sql: string; params?: unknown[] };
export type Platform = { readonly key: string; readonly keyHash: string; readonly platformId: string };
export type Stage = {
  readonly origin: URL;
  /** The platform whose calls are measured. */
  readonly platform: Platform;
  /** The platform whose consumer buys from the first one's provider. */
  readonly second: Platform;
  readonly operatorKey: string;
  readonly networks: readonly Network[];
  readonly serviceDid: string;
  /** The receiver of the webhooks. */
  readonly receiver: Receiver;
  /** Runs one batch on the database directly. */
  readonly sql: (statements: readonly Sql[]) => Promise<Row[][]>;
  /** Fires the trigger of every minute. */
  readonly cron: () => Promise<void>;
  readonly close: () => Promise<void>;
};
/**
 * `outbox`: events and entries are sent on right after the calls, as in production, instead of by the job alone. `vars`: variables of the Worker that
 * differ from those on a laptop.
 */
type StageOptions = { readonly outbox?: boolean; readonly vars?: Readonly<Record<string, string>> };

const ROOT = join(import.meta.dirname, "..");
const CHAINS = [
  { network: "base-sepolia", chainId: 84532, kind: "testnet" },
  { network: "base", chainId: 8453, kind: "mainnet" },
] as const;
/** More calls than any run sends, so that no call is limited. */
const QUOTA = 1_000_000_000;
const BRANDS = ["bench"] as const;
const RATE_LIMITS = ["RATE_CREDENTIAL", "RATE_ADDRESS"].map((name, i) => ({
  name,
  namespace_id: String(2001 + i),
  simple: { limit: QUOTA, period: 60 as const },
}));

export async function setStage({ outbox = false, vars = {} }: StageOptions = {}): Promise<Stage> {
  Object.assign(process.env, {
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_LOG: "error",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    CI: "1",
  });
  const chains = await Promise.all(CHAINS.map(startEphemeralChain));
  const networks = parseNetworks(JSON.stringify(chains.map(({ entry }) => entry)));
  const operatorKey = randomText(24);
  const secrets = await drawSecrets(operatorKey);
  const serviceDid = secrets.SERVICE_DID;
  const config = benchConfig(networks, { ...secrets, ...vars, BENCH_OUTBOX: outbox ? "on" : "off" });
  const receiver = await startReceiver();
  const folder = linkFolder();
  const server = createTestHarness({ root: folder, workers: [{ config }] });
  try {
    await server.listen();
    await server.getWorker().applyD1Migrations("DB");
    const origin = await workerOrigin(() => server.getWorker().fetch("/__bench/hello"));
    const sql = async (statements: readonly Sql[]): Promise<Row[][]> => {
      const reply = await send(origin, { method: "POST", path: "/__bench/sql", body: JSON.stringify(statements) });
      if (reply.status !== 200)
        throw new Error(`the bench's SQL failed: ${reply.body.toString()} ${statements[0]?.sql}`);
      return JSON.parse(reply.body.toString()) as Row[][];
    };
    const cron = async () => {
      await server.getWorker().scheduled({ cron: "* * * * *", scheduledTime: new Date() });
    };
    const close = async () => {
      closeConnections();
      receiver.close();
      await server.close();
      await stopChains(chains);
      rmSync(folder, { recursive: true });
    };
    const [platform, second] = [await accredit(origin, "Bench Platform"), await accredit(origin, "Second Platform")];
    return { origin, platform, second, operatorKey, networks, serviceDid, receiver, sql, cron, close };
  } catch (thrown) {
    receiver.close();
    await server.close().catch(() => undefined);
    await stopChains(chains);
    rmSync(folder, { recursive: true });
    throw thrown;
  }
}

/** Links the folders that the configuration names, but not the `.dev.vars` of `npm start`, which wrangler would load. */
function linkFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  for (const name of ["src", "migrations"]) symlinkSync(join(ROOT, name), join(folder, name));
  return folder;
}

/**
 * Finds the address of the Worker's own socket. The address that wrangler returns leads through a second workerd, which would take most of the time.
 */
async function workerOrigin(ask: () => Promise<unknown>): Promise<URL> {
  let origin: URL | null = null;
  const onRequest = (message: unknown) => {
    const { request } = message as { request: { origin: string | URL } };
    origin = new URL(request.origin);
  };
  subscribe("undici:request:create", onRequest);
  await ask();
  unsubscribe("undici:request:create", onRequest);
  if (!origin) throw new Error("the Worker's socket is not known");
  return origin;
}

const stopChains = (chains: readonly EphemeralChain[]) => Promise.all(chains.map(({ anvil }) => anvil.stop()));

/** Builds wrangler.toml with another entry, quotas that no run reaches, and secrets of this run. */
function benchConfig(networks: readonly Network[], secrets: Record<string, string>) {
  const { rawConfig } = experimental_readRawConfig({ config: join(ROOT, "wrangler.toml") });
  const { env: _deployed, triggers: _crons, build: _check, ...local } = rawConfig;
  return {
    ...local,
    main: join(import.meta.dirname, "worker.ts"),
    // The meter uses AsyncLocalStorage.
    compatibility_flags: [...(local.compatibility_flags ?? []), "nodejs_als"],
    ratelimits: RATE_LIMITS,
    vars: {
      ...local.vars,
      ISSUER: "http://bench.test",
      // No intent ends while the bench runs, except those that a case ends.
      INTENT_LIFE_SECONDS: "86400",
      SANDBOX_MAINNET_A_DAY: "100000",
      SANDBOX_MAINNET_IN_ALL: "100000",
      NETWORKS: JSON.stringify(networks),
      MANAGEMENT_KEY_BRANDS: BRANDS.join(","),
      RATE_CREDENTIAL_QUOTA: String(QUOTA),
      RATE_ADDRESS_QUOTA: String(QUOTA),
      OPERATOR_ALERT_EMAIL: "operator@bench.test",
      ...secrets,
    },
  };
}

// ---- Platforms -------------------------------------------------------------------------------------------------------

export async function accredit(origin: URL, name: string): Promise<Platform> {
  const now = Date.now();
  const { rawKey: key, keyHash, keyPrefix } = await generateManagementKey("sandbox", BRANDS);
  const platformId = createId("plt", now);
  const platform: SeededPlatform = {
    platformId,
    tenantPrincipalId: createId("prn", now),
    name,
    email: `ops@${platformId}.test`,
    keys: [{ keyHash, keyPrefix, environment: "sandbox" }],
  };
  const { status } = await send(origin, { method: "POST", path: "/__bench/platform", body: JSON.stringify(platform) });
  if (status !== 200) throw new Error("the platform could not be seeded");
  return { key, keyHash, platformId };
}
