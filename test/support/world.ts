// A world in one call: a new platform in the real D1, and the app with the world's clock. Its methods make agents, markets and intents. Every answer
// is checked against the OpenAPI document before a test sees it.
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env as rawEnv } from "cloudflare:workers";
import { type Meter, openMeter } from "../../bench/meter.ts";
import { seedPlatform } from "../../scripts/platform.ts";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import { drawSessionToken } from "../../src/accounts/links.ts";
import { createApp } from "../../src/app.ts";
import { buildDeps, type Deps, type Env, type PasswordCost } from "../../src/context.ts";
import { createId } from "../../src/core/ids.ts";
import { DAY_MS, HOUR_MS, SESSION_DAYS } from "../../src/core/limits.ts";
import { sessions } from "../../src/db/tables/accounts.ts";
import { networkAvailability } from "../../src/db/tables/chain.ts";
import type { Job } from "../../src/jobs/job.ts";
import { runToEnd } from "../../src/jobs/run.ts";
import { importPrivateKeyPem } from "../../src/protocol/ecdsa.ts";
import { digestRequest, signProof } from "../../src/protocol/proof.ts";
import { account, CHAINS, type Chain, headOf, networksWith } from "./chain.ts";
import { type Sent, watchQueues } from "./held-queues.ts";
import { type SentMail, watchMails } from "./mails.ts";
import { checkAnswer, needsCredential } from "./openapi.ts";
import { traffic } from "./plans.ts";

export const env = rawEnv as unknown as Env;
export const ISSUER = "http://service.test";
export const BRANDS = ["service"] as const;

/** Makes hashes of passwords cheap, unless a test asks for the real cost. */
export const PASSWORD_COST: PasswordCost = { N: 2, r: 1, p: 1 };

export type Reply = { status: number; body: Json; headers: Headers; text: string; bytes: Uint8Array };
// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer is checked by the test
export type Json = any;
export type CallOptions = {
  key?: string | null;
  body?: unknown;
  rawBody?: string | Uint8Array;
  headers?: Record<string, string>;
};

export type Agent = { did: string; privateKey: CryptoKey; pem: string; certificate: string; principalId: string };

/** The networks of a world by default. */
const SHARED_NETWORKS = networksWith();

export class World {
  /** The service's time: the system's clock plus the offset that a test has set. */
  offset = 0;
  readonly meter: Meter;
  readonly deps: Deps;
  readonly app: ReturnType<typeof createApp>;
  readonly platformId: string;
  readonly tenantPrincipalId: string;
  readonly key: string;
  readonly liveKey: string;
  /** The mails that this world sent, through the real binding. */
  readonly mails: SentMail[];
  /** The messages that this world has sent and no test has delivered. */
  readonly sent: Sent[] = [];
  readonly traffic = traffic;
  /** The number of parts of the service that are running. */
  readonly serving = { now: 0 };

  constructor(
    {
      platformId,
      tenantPrincipalId,
      key,
      liveKey,
    }: Pick<World, "platformId" | "tenantPrincipalId" | "key" | "liveKey">,
    vars: Partial<Env>,
    sharedCache: Cache,
  ) {
    this.meter = openMeter(env.DB, (sql) => {
      if (this.serving.now > 0) this.traffic.statements.add(sql);
    });
    const clock = { now: () => Date.now() + this.offset, ahead: () => this.offset };
    const { sent, MAIL } = watchMails(env.MAIL);
    this.mails = sent;
    const bindings = { ...env, ...watchQueues(env, this.sent), MAIL, NETWORKS: SHARED_NETWORKS };
    const deps = buildDeps({ ...bindings, ...vars, DB: this.meter.d1 }, ISSUER, clock);
    this.deps = { ...deps, sharedCache, passwordCost: PASSWORD_COST };
    this.app = createApp(this.deps);
    this.traffic.serving.push(this.serving);
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

  /** Starts a session of this platform as a log-in does. Returns its token. */
  async session(times: { usedAt?: number; confirmedAt?: number; expiresAt?: number } = {}): Promise<string> {
    const { token, tokenHash } = await drawSessionToken();
    const now = this.now();
    const expiresAt = now + SESSION_DAYS * DAY_MS;
    // Confirmed for as long as it lives, so that no call needs a confirmation, however long the file takes.
    const stamps = { createdAt: now, confirmedAt: expiresAt, usedAt: now, expiresAt, ...times };
    const row = { tokenHash, sessionId: createId("ses", now), platformId: this.platformId };
    await this.deps.db.insert(sessions).values({ ...row, device: "Firefox on Linux", network: "local", ...stamps });
    return token;
  }

  /** A call of a person, in the sandbox or in the environment that a header names. */
  async person(method: string, path: string, options: Omit<CallOptions, "key"> = {}): Promise<Reply> {
    this.#token ??= await this.session();
    const headers = { Authorization: `Bearer ${this.#token}`, ...options.headers };
    return this.call(method, path, { ...options, key: null, headers });
  }
  #token: string | undefined;

  /** Sends one request through the whole app, and waits for its work after the answer. */
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
    const { response, bytes } = await this.serve(async () => {
      const answered = await this.app.fetch(request, { ...env, DB: this.meter.d1 }, context);
      const read = new Uint8Array(await answered.arrayBuffer());
      await waitOnExecutionContext(context);
      return { response: answered, bytes: read };
    });
    const text = new TextDecoder().decode(bytes);
    const type = response.headers.get("content-type") ?? "";
    const parsed: Json = /^application\/(?:[\w.+-]+\+)?json/.test(type) ? JSON.parse(text) : text === "" ? null : text;
    checkAnswer(method, path, response.status, type, parsed);
    if (response.ok && needsCredential(method, path)) this.traffic.callersAnswered += 1;
    return { status: response.status, body: parsed, headers: response.headers, text, bytes };
  }

  /** Runs a part of the service; the query plans of its statements are checked when the file ends. */
  async serve<T>(work: () => Promise<T>): Promise<T> {
    this.serving.now += 1;
    try {
      return await work();
    } finally {
      this.serving.now -= 1;
    }
  }

  /** The three headers of an agent's call, with a request-bound proof. */
  async prove(agent: Agent, method: string, path: string, body = ""): Promise<Record<string, string>> {
    const url = new URL(path, ISSUER);
    const digest = await digestRequest({ method, query: url.search, body });
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

  /** Runs a job to its end, as the cron and the queue would. Returns the number of recorded rows. */
  run(job: Job, deps: Deps = this.deps): Promise<number> {
    return this.serve(() => runToEnd(deps, job));
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

  /** Makes an ACTIVE provider with an ACTIVE market on the network. */
  async provider(
    overrides: Record<string, unknown> = {},
    market = "GLOBAL-USDC",
    network = "base-sepolia",
  ): Promise<Agent> {
    const agent = await this.agent("PROVIDER", overrides);
    const markets = [{ market, network, operational_wallet: account(8) }];
    const ask = () => this.call("POST", `/v1/agents/${agent.did}/scope/authorized_markets`, { body: { markets } });
    const [entry] = expectStatus(await ask(), 200).markets;
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

/** A runtime's files share its chains, so the world starts after the blocks of earlier files. A network without a chain starts at block 1. */
async function fromNow(networks: string): Promise<string> {
  const named: readonly Chain[] = JSON.parse(networks);
  const from = await Promise.all(
    named.map(async (chain) => ({
      ...chain,
      first_block: CHAINS.some(({ network }) => network === chain.network) ? (await headOf(chain.network)) + 1 : 1,
    })),
  );
  return JSON.stringify(from);
}

/** `vars` replaces variables of wrangler.toml. */
export async function createWorld(vars: Partial<Env> = {}): Promise<World> {
  const now = Date.now();
  const platformId = createId("plt", now);
  const tenantPrincipalId = createId("prn", now);
  const key = await generateManagementKey("sandbox", BRANDS);
  const live = await generateManagementKey("production", BRANDS);
  // A separate cache, because the database of another file has other lists under the same address.
  const sharedCache = await caches.open(platformId);
  const named = { ...vars, NETWORKS: await fromNow(vars.NETWORKS ?? SHARED_NETWORKS) };
  const world = new World({ platformId, tenantPrincipalId, key: key.rawKey, liveKey: live.rawKey }, named, sharedCache);
  const name = `Platform ${platformId}`;
  // Dates the last use later than any call of the file, so that no call writes a use, however long the file takes.
  const lastUsedAt = now + HOUR_MS;
  const [sandbox, production] = [key, live].map(({ keyHash, keyPrefix }) => ({ keyHash, keyPrefix, lastUsedAt }));
  if (!sandbox || !production) throw new Error("unreachable: two keys");
  const keys = [
    { ...sandbox, environment: "sandbox" },
    { ...production, environment: "production" },
  ] as const;
  await seedPlatform(world.deps.db, {
    platformId,
    tenantPrincipalId,
    name,
    email: `ops-${platformId}@platform.test`,
    keys,
  });
  await keepOpen(world);
  return world;
}

/** Keeps networks open although their follower runs only when the test runs it (PAY-24), and keeps calls from sending it. */
async function keepOpen({ deps: { db, config } }: World): Promise<void> {
  const opened = ({ network }: { readonly network: string }) =>
    db.insert(networkAvailability).values({ network, sentAt: Number.MAX_SAFE_INTEGER }).onConflictDoNothing();
  const [first, ...others] = config.networks.map(opened);
  if (first) await db.batch([first, ...others]);
}

let counter = 0;
/** A valid body; each test makes one part of it invalid. */
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
