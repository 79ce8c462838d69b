// Sets the stage: two local chains with the contracts, the bench build of the Worker, and a platform that may call it.
import { randomBytes, randomUUID } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { join } from "node:path";
import { createTestHarness, experimental_readRawConfig } from "wrangler";
import { type Anvil, devAccounts, startAnvil } from "../scripts/chain/anvil.ts";
import { deployContracts } from "../scripts/chain/deploy.ts";
import { generateManagementKey } from "../src/accounts/management-key.ts";
import { type Network, type NetworkInput, parseNetworks } from "../src/chain/networks.ts";
import { sha256Hex } from "../src/core/encoding.ts";
import { newId } from "../src/core/ids.ts";
import { closeConnections, send } from "./wire.ts";

export type Row = Record<string, unknown>;
export type Sql = { sql: string; params?: unknown[] };
export type Stage = {
  readonly origin: URL;
  readonly key: string;
  readonly keyHash: string;
  readonly platformId: string;
  readonly networks: readonly Network[];
  readonly serviceDid: string;
  /** One batch, past the service. */
  readonly sql: (statements: readonly Sql[]) => Promise<Row[][]>;
  readonly close: () => Promise<void>;
};

const ROOT = join(import.meta.dirname, "..");
const CHAINS = [
  { network: "base-sepolia", chainId: 84532, kind: "testnet" },
  { network: "base", chainId: 8453, kind: "mainnet" },
] as const;
/** Beyond what any run sends: the limiter is passed, never met. */
const QUOTA = 1_000_000_000;
const BRANDS = ["bench"] as const;
const RATE_LIMITS = ["RATE_CREDENTIAL", "RATE_ADDRESS"].map((name, i) => ({
  name,
  namespace_id: String(2001 + i),
  simple: { limit: QUOTA, period: 60 as const },
}));

export async function setStage(): Promise<Stage> {
  Object.assign(process.env, {
    WRANGLER_SEND_METRICS: "false",
    WRANGLER_HIDE_BANNER: "true",
    WRANGLER_LOG: "error",
    CLOUDFLARE_CF_FETCH_ENABLED: "false",
    CI: "1",
  });
  const chains = await Promise.all(CHAINS.map(startChain));
  const networks = parseNetworks(JSON.stringify(chains.map(({ entry }) => entry)));
  const serviceDid = `did:aeap:${randomUUID()}`;
  const server = createTestHarness({ root: ROOT, workers: [{ config: await benchConfig(networks, serviceDid) }] });
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
    const close = async () => {
      closeConnections();
      await server.close();
      await stopChains(chains);
    };
    return { origin, networks, serviceDid, sql, close, ...(await seedPlatform(sql)) };
  } catch (thrown) {
    await server.close().catch(() => undefined);
    await stopChains(chains);
    throw thrown;
  }
}

/** The Worker's own socket: the address that wrangler gives goes through a second workerd, which would be most of a timing. */
async function workerOrigin(ask: () => Promise<unknown>): Promise<URL> {
  let origin: URL | null = null;
  const heard = (message: unknown) => {
    const { request } = message as { request: { origin: string | URL } };
    origin = new URL(request.origin);
  };
  subscribe("undici:request:create", heard);
  await ask();
  unsubscribe("undici:request:create", heard);
  if (!origin) throw new Error("the Worker's socket is not known");
  return origin;
}

type Chain = { anvil: Anvil; entry: NetworkInput };
const stopChains = (chains: readonly Chain[]) => Promise.all(chains.map(({ anvil }) => anvil.stop()));

async function startChain({ network, chainId, kind }: (typeof CHAINS)[number]): Promise<Chain> {
  const [admin, registrar, arbiter, feeRecipient] = devAccounts();
  if (!admin || !registrar || !arbiter || !feeRecipient) throw new Error("anvil has no accounts");
  const anvil = await startAnvil({ chainId, port: 0 });
  const { settlementContract, token } = await deployContracts(anvil.rpcUrl, {
    adminKey: admin.privateKey,
    registrarAddress: registrar.address,
    arbiterAddress: arbiter.address,
    feeRecipient: feeRecipient.address,
  });
  const entry: NetworkInput = {
    network,
    chain_id: chainId,
    kind,
    rpc_url: anvil.rpcUrl,
    settlement_contract: settlementContract,
    token,
    currency: "USDC",
    decimals: 6,
    required_confirmations: 1,
  };
  return { anvil, entry };
}

/** wrangler.toml as it is, with another entry, quotas that are never met, and secrets of this run. */
async function benchConfig(networks: readonly Network[], serviceDid: string) {
  const { rawConfig } = experimental_readRawConfig({ config: join(ROOT, "wrangler.toml") });
  const { env: _deployed, triggers: _crons, ...local } = rawConfig;
  const [, registrar] = devAccounts();
  return {
    ...local,
    main: join(import.meta.dirname, "worker.ts"),
    // For the meter's AsyncLocalStorage alone.
    compatibility_flags: [...(local.compatibility_flags ?? []), "nodejs_als"],
    ratelimits: RATE_LIMITS,
    vars: {
      ...local.vars,
      NETWORKS: JSON.stringify(networks),
      MANAGEMENT_KEY_BRANDS: BRANDS.join(","),
      RATE_CREDENTIAL_QUOTA: String(QUOTA),
      RATE_ADDRESS_QUOTA: String(QUOTA),
      CA_KEYS: JSON.stringify([{ jwk: await drawSigningKey(), use: "signing" }]),
      SERVICE_DID: serviceDid,
      NONCE_KEY: randomBytes(32).toString("base64url"),
      OPERATOR_KEY_HASHES: await sha256Hex(randomBytes(24).toString("base64url")),
      CHAIN_REGISTRAR_KEY: registrar?.privateKey ?? "",
    },
  };
}

async function drawSigningKey(): Promise<JsonWebKey> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const pair = (await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"])) as CryptoKeyPair;
  const { kty, crv, x, y, d } = (await crypto.subtle.exportKey("jwk", pair.privateKey)) as JsonWebKey;
  return { kty, crv, x, y, d } as JsonWebKey;
}

// ---- The platform ----------------------------------------------------------------------------------------------------

const YEAR_MS = 365 * 86_400_000;

async function seedPlatform(sql: Stage["sql"]) {
  const now = Date.now();
  const platformId = newId("plt", now);
  const tenantPrincipalId = newId("prn", now);
  const { rawKey: key, keyHash, keyPrefix } = await generateManagementKey("sandbox", BRANDS);
  const shared = { platform_id: platformId, created_at: now };
  const name = "Bench Platform";
  await sql([
    insert("platforms", {
      ...shared,
      status: "ACCREDITED",
      legal_name: name,
      country: "DE",
      email: "ops@platform.test",
      accreditation_tier: "TIER_3",
      tenant_principal_id: tenantPrincipalId,
      updated_at: now,
    }),
    insert("principals", {
      ...shared,
      principal_id: tenantPrincipalId,
      environment: "sandbox",
      tenant: 1,
      legal_name: name,
      name_folded: name.toLowerCase(),
      country: "DE",
      entity_type: "company",
      external_ref: `tenant:${platformId}`,
      status: "ACTIVE",
      attestation_id: newId("att", now),
      attestation_verifier_id: "operator",
      attestation_model: "kyb",
      attestation_tier: "TIER_3",
      attestation_issued_at: now,
      attestation_expires_at: now + YEAR_MS,
      updated_at: now,
    }),
    insert("management_keys", {
      ...shared,
      key_hash: keyHash,
      key_id: newId("key", now),
      environment: "sandbox",
      key_prefix: keyPrefix,
    }),
  ]);
  return { key, keyHash, platformId };
}

function insert(table: string, row: Row): Sql {
  const columns = Object.keys(row);
  const marks = columns.map(() => "?").join(", ");
  return { sql: `insert into ${table} (${columns.join(", ")}) values (${marks})`, params: Object.values(row) };
}
