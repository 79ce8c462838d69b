// A world in one call: a fresh platform in the real D1, the app with the world's clock, signing agents, a paying wallet.
// Every answer is checked against the OpenAPI document before a test sees it.
import { applyD1Migrations, createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env as rawEnv } from "cloudflare:workers";
import { encodeFunctionData } from "viem/utils";
import { inject } from "vitest";
import { generateManagementKey } from "../../src/accounts/management-key.ts";
import { createApp } from "../../src/app.ts";
import { settlementAbi, tokenAbi } from "../../src/chain/abi.ts";
import { didHash, intentHash } from "../../src/chain/hashes.ts";
import { buildDeps, type Deps, type Env } from "../../src/context.ts";
import { newId } from "../../src/core/ids.ts";
import type { Environment } from "../../src/core/vocabulary.ts";
import { managementKeys, platforms } from "../../src/db/tables/accounts.ts";
import { principals } from "../../src/db/tables/principals.ts";
import type { Job } from "../../src/jobs/job.ts";
import { runToEnd } from "../../src/jobs/run.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { requestDigest, signProof } from "../../src/protocol/proof.ts";
import { type Meter, meter } from "./meter.ts";
import { checkAnswer } from "./openapi.ts";
import type { Spoil } from "./spoiling-node.ts";

export const env = rawEnv as unknown as Env;
export const ISSUER = "http://service.test";
export const BRANDS = ["service"] as const;

export type Reply = { status: number; body: Json; headers: Headers; text: string };
// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer is checked by the test
export type Json = any;
export type CallOptions = { key?: string | null; body?: unknown; rawBody?: string; headers?: Record<string, string> };

export type Agent = { did: string; privateKey: CryptoKey; pem: string; certificate: string; principalId: string };

const ALL_NETWORKS = JSON.parse(env.NETWORKS) as (Chain & { network: string })[];
/** What a world knows unless it asks for more: a lab is not everybody's. */
const SHARED_NETWORKS = JSON.stringify(ALL_NETWORKS.filter(({ network }) => !network.startsWith("lab")));

let migrated: Promise<void> | undefined;
const migrate = () => {
  migrated ??= applyD1Migrations(env.DB, inject("migrations") as never);
  return migrated;
};

export class World {
  /** What the service believes the time is: the wall plus what a test moved. */
  offset = 0;
  readonly meter: Meter;
  readonly deps: Deps;
  readonly app: ReturnType<typeof createApp>;
  readonly platformId: string;
  readonly tenantPrincipalId: string;
  readonly key: string;
  readonly liveKey: string;

  constructor(
    platformId: string,
    tenantPrincipalId: string,
    key: string,
    liveKey: string,
    vars: Partial<Env>,
    sharedCache: Cache,
  ) {
    this.meter = meter(env.DB);
    const clock = { now: () => Date.now() + this.offset };
    const deps = buildDeps({ ...env, NETWORKS: SHARED_NETWORKS, ...vars, DB: this.meter.d1 }, ISSUER, clock);
    this.deps = { ...deps, sharedCache };
    this.app = createApp(this.deps);
    this.platformId = platformId;
    this.tenantPrincipalId = tenantPrincipalId;
    this.key = key;
    this.liveKey = liveKey;
  }

  now(): number {
    return Date.now() + this.offset;
  }

  advance(ms: number): void {
    this.offset += ms;
  }

  /** One request through the whole app; waits for what goes on after the answer. */
  async call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    const { key = this.key, body, rawBody, headers = {} } = options;
    const sent = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
    const request = new Request(`${ISSUER}${path}`, {
      method,
      headers: {
        ...(key !== null && { "Service-Api-Key": key }),
        ...(sent !== undefined && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    });
    const context = createExecutionContext();
    const response = await this.app.fetch(request, { ...env, DB: this.meter.d1 }, context);
    const text = new TextDecoder().decode(await response.arrayBuffer());
    await waitOnExecutionContext(context);
    const type = response.headers.get("content-type") ?? "";
    const parsed: Json = /^application\/(?:[\w.-]+\+)?json/.test(type) ? JSON.parse(text) : text === "" ? null : text;
    checkAnswer(method, path, response.status, type, parsed);
    return { status: response.status, body: parsed, headers: response.headers, text };
  }

  /** The three headers of an agent's call, over exactly what is sent. */
  async prove(agent: Agent, method: string, path: string, body = ""): Promise<Record<string, string>> {
    const url = new URL(path, ISSUER);
    const digest = await requestDigest({ method, query: url.search, body });
    if (!digest.ok) throw new Error(digest.reason);
    const timestamp = String(Math.floor(Date.now() / 1000));
    const statement = {
      kind: "request",
      timestamp,
      agentDid: agent.did,
      method,
      path: url.pathname,
      digest: digest.digest,
    } as const;
    const { proof } = await signProof(statement, agent.privateKey);
    return { "AEAP-Certificate": agent.certificate, "AEAP-Proof": proof, "AEAP-Timestamp": timestamp };
  }

  /** The consumer's proof bound to another agent (or to the service). */
  async proveBound(agent: Agent, calleeDid: string): Promise<Record<string, string>> {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const { proof } = await signProof({ kind: "bound", timestamp, callerDid: agent.did, calleeDid }, agent.privateKey);
    return { "AEAP-Certificate": agent.certificate, "AEAP-Proof": proof, "AEAP-Timestamp": timestamp };
  }

  /** A call as an agent, with a request-bound proof. */
  async as(
    agent: Agent,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const rawBody = body === undefined ? "" : JSON.stringify(body);
    const proof = await this.prove(agent, method, path, rawBody);
    return this.call(method, path, {
      key: null,
      headers: { ...proof, ...headers },
      ...(body !== undefined && { rawBody }),
    });
  }

  /** What the minute's trigger and the queue would do with a job, to its end. Returns how many it recorded. */
  run(job: Job, deps: Deps = this.deps): Promise<number> {
    return runToEnd(deps, job);
  }

  // ---- Shortcuts through the API itself ----------------------------------------------------------------------------

  async principal(overrides: Record<string, unknown> = {}): Promise<string> {
    const reply = await this.call("POST", "/v1/principals", { body: principalBody(overrides) });
    return expectStatus(reply, 201).principal_id;
  }

  async draft(
    role: "CONSUMER" | "PROVIDER",
    overrides: Record<string, unknown> = {},
  ): Promise<{ did: string; principalId: string }> {
    const principalId = (overrides["principal_id"] as string | undefined) ?? (await this.principal());
    const reply = await this.call("POST", "/v1/agents", {
      body: { ...agentBody(role), ...overrides, principal_id: principalId },
    });
    return { did: expectStatus(reply, 201).did, principalId };
  }

  async agent(role: "CONSUMER" | "PROVIDER", overrides: Record<string, unknown> = {}): Promise<Agent> {
    const { did, principalId } = await this.draft(role, overrides);
    const reply = await this.call("POST", `/v1/agents/${did}/activate`);
    const { private_key: pem, certificate } = expectStatus(reply, 200);
    return { did, privateKey: await importPrivateKeyPem(pem), pem, certificate, principalId };
  }

  /** An ACTIVE provider with an ACTIVE market on the network. */
  async provider(
    overrides: Record<string, unknown> = {},
    market = "GLOBAL-USDC",
    network = "base-sepolia",
  ): Promise<Agent> {
    const agent = await this.agent("PROVIDER", overrides);
    const markets = [{ market, network, operational_wallet: account(8) }];
    const reply = await this.call("POST", `/v1/agents/${agent.did}/scope/authorized_markets`, { body: { markets } });
    const [entry] = expectStatus(reply, 200).markets;
    if (entry.status !== "ACTIVE") throw new Error(`the market is ${JSON.stringify(entry)}`);
    return agent;
  }

  consumer(overrides: Record<string, unknown> = {}): Promise<Agent> {
    return this.agent("CONSUMER", overrides);
  }

  async intent(consumer: Agent, provider: Agent, amount = "10.00", extra: Record<string, unknown> = {}): Promise<Json> {
    const body = { consumer_did: consumer.did, provider_did: provider.did, amount, currency: "USDC", ...extra };
    return expectStatus(await this.as(consumer, "POST", "/v1/payment-intents", body), 201);
  }
}

export function expectStatus(reply: Reply, status: number): Json {
  if (reply.status !== status) throw new Error(`expected ${status}, got ${reply.status}: ${reply.text}`);
  return reply.body;
}

/** `vars` configures the service otherwise than wrangler.toml does. */
export async function createWorld(vars: Partial<Env> = {}): Promise<World> {
  await migrate();
  const now = Date.now();
  const platformId = newId("plt", now);
  const tenantPrincipalId = newId("prn", now);
  const key = await generateManagementKey("sandbox", BRANDS);
  const live = await generateManagementKey("production", BRANDS);
  // Of its own: another file's database has other lists under the same address.
  const sharedCache = await caches.open(platformId);
  const world = new World(platformId, tenantPrincipalId, key.rawKey, live.rawKey, vars, sharedCache);
  const { db } = world.deps;
  const keyRow = (generated: typeof key, environment: Environment) => ({
    keyHash: generated.keyHash,
    keyId: newId("key", now),
    platformId,
    environment,
    keyPrefix: generated.keyPrefix,
    createdAt: now,
  });
  await db.batch([
    db.insert(platforms).values({
      platformId,
      status: "ACCREDITED",
      legalName: `Platform ${platformId}`,
      country: "DE",
      email: "ops@platform.test",
      accreditationTier: "TIER_3",
      tenantPrincipalId,
      createdAt: now,
      updatedAt: now,
    }),
    db.insert(principals).values({
      principalId: tenantPrincipalId,
      platformId,
      environment: "sandbox",
      tenant: true,
      legalName: `Platform ${platformId}`,
      nameFolded: `platform ${platformId}`,
      country: "DE",
      entityType: "company",
      externalRef: `tenant:${platformId}`,
      status: "ACTIVE",
      attestationId: newId("att", now),
      attestationVerifierId: "operator",
      attestationModel: "kyb",
      attestationTier: "TIER_3",
      attestationIssuedAt: now,
      attestationExpiresAt: now + 365 * 86_400_000,
      createdAt: now,
      updatedAt: now,
    }),
    db.insert(managementKeys).values(keyRow(key, "sandbox")),
    db.insert(managementKeys).values(keyRow(live, "production")),
  ]);
  return world;
}

let counter = 0;
/** One valid body; each test breaks one thing of it. */
export function principalBody(overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const n = `${Date.now().toString(36)}-${++counter}`;
  return {
    legal_name: `Acme Robotics ${n} GmbH`,
    country: "DE",
    entity_type: "company",
    external_ref: `crm-${n}`,
    verification_attestation: { placeholder: true },
    ...overrides,
  };
}

export function agentBody(role: "CONSUMER" | "PROVIDER"): Record<string, unknown> {
  return {
    economic_role: role,
    profile: { display_name: role === "PROVIDER" ? "Polyglot" : "Buyer", description: "Does its work." },
    endpoint_url: "https://agent.example/v1",
    scope: {
      authorized_actions: [role === "PROVIDER" ? "sell" : "purchase"],
      capabilities: ["translation"],
      dispute_window_days: 14,
    },
  };
}

// ---- The chain: anvil's accounts are unlocked, so a test sends without signing ---------------------------------------

export const account = (index: number): string => inject("accounts")[index] ?? "0x";
type Chain = { rpc_url: string; settlement_contract: string; token: string };
export const chainOf = (network = "base-sepolia"): Chain =>
  ALL_NETWORKS.find((chain) => chain.network === network) as Chain;

export async function rpc(network: string, method: string, params: unknown[]): Promise<Json> {
  const response = await fetch(chainOf(network).rpc_url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as { result?: Json; error?: { message: string } };
  if (error) throw new Error(error.message);
  return result;
}

/** What the node in front of a lab's chain does to the next calls. */
export async function spoil(network: string, ...spoils: readonly Spoil[]): Promise<void> {
  await fetch(chainOf(network).rpc_url, { method: "PUT", body: JSON.stringify(spoils) });
}

/** With its gas given the node does not try it first: what the contract refuses is mined as reverted. */
export const submit = (network: string, from: string, to: string, data: string): Promise<string> =>
  rpc(network, "eth_sendTransaction", [{ from, to, data, gas: "0x2dc6c0" }]);

export async function send(network: string, from: string, to: string, data: string): Promise<string> {
  const hash = await submit(network, from, to, data);
  // The node answers before it mines.
  while ((await rpc(network, "eth_getTransactionReceipt", [hash])) === null) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return hash;
}

export type PayOptions = {
  network?: string;
  intentId?: string;
  from?: string;
  contract?: string;
  token?: string;
  /** False: nothing was approved, so that the payment is mined as reverted. */
  approved?: boolean;
  /** False: does not wait for its block. */
  mined?: boolean;
  /** When all but the payment is mined. */
  prepared?: () => Promise<unknown>;
};

/** Mints, approves and pays; the transaction hash. Amount in base units. */
export async function payOnChain(
  consumerDid: string,
  providerDid: string,
  units: number,
  options: PayOptions = {},
): Promise<string> {
  const { network = "base-sepolia", intentId, from = account(9), approved = true, mined = true } = options;
  const { contract = chainOf(network).settlement_contract, token = chainOf(network).token } = options;
  const amount = BigInt(units);
  const hex = (text: string) => text as `0x${string}`;
  await send(
    network,
    from,
    token,
    encodeFunctionData({ abi: mintAbi, functionName: "mint", args: [hex(from), amount] }),
  );
  // Files pay from the same account at once: an exact allowance would be each other's.
  const allowance = approved ? 2n ** 256n - 1n : 0n;
  await send(
    network,
    from,
    token,
    encodeFunctionData({ abi: tokenAbi, functionName: "approve", args: [hex(contract), allowance] }),
  );
  await options.prepared?.();
  const data =
    intentId === undefined
      ? encodeFunctionData({
          abi: settlementAbi,
          functionName: "pay",
          args: [hex(token), amount, didHash(providerDid), didHash(consumerDid)],
        })
      : encodeFunctionData({
          abi: settlementAbi,
          functionName: "payIntent",
          args: [hex(token), amount, didHash(providerDid), didHash(consumerDid), intentHash(intentId)],
        });
  return mined ? send(network, from, contract, data) : submit(network, from, contract, data);
}

const mintAbi = [
  {
    type: "function",
    name: "mint",
    stateMutability: "nonpayable",
    inputs: [
      { name: "to", type: "address" },
      { name: "amount", type: "uint256" },
    ],
    outputs: [],
  },
] as const;
