// Env (the bindings of Cloudflare) and Deps (the dependencies of the domain): the only place that chooses adapters. Each feature reads its own
// configuration (rating parameters, key brands) from Env.
import { createChainGateway } from "./chain/evm.ts";
import type { ChainGateway } from "./chain/gateway.ts";
import { type Network, parseNetworks } from "./chain/networks.ts";
import { type Clock, type Due, systemClock } from "./core/clock.ts";
import { SECOND_MS } from "./core/limits.ts";
import { memoizeBy } from "./core/retry.ts";
import { splitList } from "./core/text.ts";
import type { Environment } from "./core/vocabulary.ts";
import type { Volume } from "./core/volume.ts";
import { type Database, openDatabase } from "./db/batch.ts";
import type { ChainSigner } from "./objects/chain-signer.ts";
import type { AgentObject, IdempotencyObject, SandboxObject, WebhookObject } from "./objects/durable-objects.ts";
import type { AttemptGuard, ReplayGuard } from "./objects/guards.ts";
import { type CertificateAuthority, openCertificateAuthority } from "./protocol/certificate-authority.ts";

export type Env = {
  DB: D1Database;
  AGENTS: DurableObjectNamespace<AgentObject>;
  IDEMPOTENCY: DurableObjectNamespace<IdempotencyObject>;
  REPLAY: DurableObjectNamespace<ReplayGuard>;
  CHAIN_SIGNER: DurableObjectNamespace<ChainSigner>;
  ATTEMPTS: DurableObjectNamespace<AttemptGuard>;
  SANDBOXES: DurableObjectNamespace<SandboxObject>;
  WEBHOOKS: DurableObjectNamespace<WebhookObject>;
  CHAIN_QUEUE: Queue<ChainMessage>;
  JOB_QUEUE: Queue<JobMessage>;
  OUTBOX_QUEUE: Queue<OutboxMessage>;
  WEBHOOK_QUEUE: Queue<WebhookMessage>;
  DOCUMENTS: R2Bucket;
  RATE_CREDENTIAL: RateLimit;
  RATE_ADDRESS: RateLimit;
  MAIL: SendEmail;
  ASSETS: Fetcher;
  ISSUER: string;
  OPERATOR_NAME: string;
  NETWORKS: string;
  JURISDICTIONS: string;
  MANAGEMENT_KEY_HEADERS: string;
  MANAGEMENT_KEY_BRANDS: string;
  ACCESS_TEAM_DOMAIN: string;
  ACCESS_AUDIENCE: string;
  INTENT_LIFE_SECONDS: string;
  SANDBOX_MAINNET_A_DAY: string;
  SANDBOX_MAINNET_IN_ALL: string;
  SANDBOX_MAINNET_TOGETHER_A_DAY: string;
  PAYOUT_ALONE_UP_TO: string;
  ATTESTATION_PROOF: string;
  RATING_MIN_INTERACTIONS: string;
  RATING_MIN_COUNTERPARTIES: string;
  RATING_PARAMETERS: string;
  PASSWORDS_AT_ONCE: string;
  PASSWORDS_EVERY_SECONDS: string;
  EVENTS_A_DAY: string;
  EVENT_MEGABYTES_A_DAY: string;
  RATE_CREDENTIAL_QUOTA: string;
  RATE_ADDRESS_QUOTA: string;
  RATE_WINDOW_SECONDS: string;
  MAIL_FROM: string;
  OPERATOR_ALERT_EMAIL: string;
  READ_REPLICAS: string;
  DOCUMENT_RETENTION_YEARS: string;
  STATUS_PAGE_URL: string;
  WEBHOOK_LOOPBACK: string;
  WEBHOOK_RESOLVER: string;
  // Secrets
  CA_KEYS: string;
  SERVICE_DID: string;
  NONCE_KEY: string;
  OPERATOR_KEY_HASHES: string;
  CHAIN_REGISTRAR_KEY: string;
  CHAIN_ARBITER_KEY: string;
  WEBHOOK_SEAL_KEYS: string;
  ACCOUNT_SEAL_KEYS: string;
};

export type ChainMessage =
  | { kind: "provision_market"; did: string; environment: Environment; network: string }
  | { kind: "follow_threshold"; did: string; environment: Environment; network: string }
  | { kind: "follow_chain"; network: string }
  | { kind: "release_escrow"; did: string; network: string }
  | { kind: "set_reserve"; did: string; network: string }
  | { kind: "pay_award"; disputeId: string; network: string };

/** Rows to record, a position from which to find more, or slices to run from a position (JOB-1). `apart`: sent outside the job's run. */
export type JobMessage =
  | {
      readonly kind: "record";
      readonly job: string;
      readonly ids: readonly string[];
      readonly apart?: true;
      /** Records each row by itself, not as a set. */
      readonly alone?: true;
    }
  | { readonly kind: "find"; readonly job: string; readonly after: Due; readonly apart?: true }
  | { readonly kind: "run"; readonly job: string; readonly after?: Due };

/** Names the platforms with new activity entries and the environments with new directory records. The outbox of events stores its own position. */
export type OutboxMessage = {
  readonly kind: "hand_on_events";
  readonly activityOf?: readonly string[];
  readonly listedIn?: readonly Environment[];
};

export type WebhookMessage = { readonly kind: "deliver"; readonly webhookId: string };

export type Config = {
  issuer: string;
  operatorName: string;
  /** Where the operator reports incidents (HTTP-39). */
  statusPage: string | null;
  serviceDid: string;
  networks: readonly Network[];
  /** Why NETWORKS is refused (CHN-26), in one line. The service then has no networks, and only reports the fault to operators (CHN-32). */
  networksFault: string | null;
  jurisdictions: ReadonlySet<string>;
  intentLifeSeconds: number;
  /** How many providers an account may register on mainnets from the sandbox, and all accounts that are not accredited together (MKT-25). */
  sandboxMainnet: { aDay: number; inAll: number; togetherADay: number };
  /** In whole units: how much of a cancelled award one operator may have paid again alone. More needs a second operator (DSP-19). */
  payoutAloneUpTo: string;
  /** Whether attestations in production must be signed by their Verifiers (PRN-27). */
  attestationProof: "required" | "optional";
  /** How many passwords a client's network may send at once, and how long until it may send another one (CRED-20). */
  passwords: { atOnce: number; everyMs: number };
  volume: { readonly [E in Environment]: Volume };
  rate: { credentialQuota: number; addressQuota: number; windowSeconds: number };
};

export type PasswordCost = { readonly N: number; readonly r: number; readonly p: number };

export type SliceSizes = {
  /** Subjects in one batch of a cascade (PRN-17, PRN-24). */
  readonly agents: number;
  readonly principals: number;
  /** Rows of a sandbox that one reading finds (ACC-28). */
  readonly due: number;
  /** Files of documents in one list (ACC-20, ACC-23). */
  readonly files: number;
};

export type Deps = {
  readonly env: Env;
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly chain: ChainGateway;
  readonly ca: () => Promise<CertificateAuthority>;
  readonly sharedCache: Cache;
  // Only tests set the rest, which replaces the cost of a password's hash (CRED-20), slice sizes, and the team of Cloudflare Access.
  readonly passwordCost?: PasswordCost;
  readonly slices?: Partial<SliceSizes>;
  readonly access?: (token: string) => Promise<string>;
};

const cachedDeps = new WeakMap<Env, Deps>();

/** Returns the same Deps for every request of an isolate, so that keys are imported once. `origin`: the issuer if none is configured. */
export function getDeps(env: Env, origin: string): Deps {
  const known = cachedDeps.get(env);
  if (known && (env.ISSUER !== "" || known.config.issuer === origin)) return known;
  const deps = buildDeps(env, origin);
  cachedDeps.set(env, deps);
  return deps;
}

const openAuthority = memoizeBy((env: Env) => openCertificateAuthority(env.CA_KEYS));

export function buildDeps(env: Env, origin: string, clock: Clock = systemClock): Deps {
  const config = parseConfig(env, origin);
  const chain = createChainGateway(config.networks);
  const db = openDatabase(env.DB);
  return { env, config, clock, db, chain, ca: () => openAuthority(env), sharedCache: caches.default };
}

export function buildCheckedDeps(env: Env): Deps {
  const deps = buildDeps(env, env.ISSUER);
  refuseFaultyNetworks(deps.config);
  return deps;
}

/** @throws Error if NETWORKS is refused: a service that knows only a part of its networks would forget what is on the others. */
export function refuseFaultyNetworks({ networksFault }: Config): void {
  if (networksFault !== null) throw new Error(networksFault);
}

function parseNetworksOrFault(text: string): Pick<Config, "networks" | "networksFault"> {
  try {
    return { networks: parseNetworks(text), networksFault: null };
  } catch (thrown) {
    return { networks: [], networksFault: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

const parseConfig = (env: Env, origin: string): Config => ({
  issuer: env.ISSUER || origin,
  operatorName: env.OPERATOR_NAME,
  statusPage: parseStatusPage(env.STATUS_PAGE_URL),
  serviceDid: env.SERVICE_DID,
  ...parseNetworksOrFault(env.NETWORKS),
  jurisdictions: new Set(splitList(env.JURISDICTIONS)),
  intentLifeSeconds: Number(env.INTENT_LIFE_SECONDS),
  sandboxMainnet: {
    aDay: parseCount("SANDBOX_MAINNET_A_DAY", env.SANDBOX_MAINNET_A_DAY),
    inAll: parseCount("SANDBOX_MAINNET_IN_ALL", env.SANDBOX_MAINNET_IN_ALL),
    togetherADay: parseCount("SANDBOX_MAINNET_TOGETHER_A_DAY", env.SANDBOX_MAINNET_TOGETHER_A_DAY),
  },
  payoutAloneUpTo: parseUnits("PAYOUT_ALONE_UP_TO", env.PAYOUT_ALONE_UP_TO),
  attestationProof: parseAttestationProof(env.ATTESTATION_PROOF),
  passwords: {
    atOnce: parseCount("PASSWORDS_AT_ONCE", env.PASSWORDS_AT_ONCE, 1),
    everyMs: parseCount("PASSWORDS_EVERY_SECONDS", env.PASSWORDS_EVERY_SECONDS) * SECOND_MS,
  },
  volume: parseVolume(env),
  rate: {
    credentialQuota: Number(env.RATE_CREDENTIAL_QUOTA),
    addressQuota: Number(env.RATE_ADDRESS_QUOTA),
    windowSeconds: Number(env.RATE_WINDOW_SECONDS),
  },
});

const MEGABYTE = 1_000_000;

function parseVolume({ EVENTS_A_DAY, EVENT_MEGABYTES_A_DAY }: Env): Config["volume"] {
  const events = parsePerEnvironment("EVENTS_A_DAY", EVENTS_A_DAY);
  const megabytes = parsePerEnvironment("EVENT_MEGABYTES_A_DAY", EVENT_MEGABYTES_A_DAY);
  const of = (environment: Environment): Volume => ({
    events: events[environment],
    event_bytes: megabytes[environment] * MEGABYTE,
  });
  return { sandbox: of("sandbox"), production: of("production") };
}

/** `sandbox=1,production=2`: both environments, each once and at least 1. */
function parsePerEnvironment(name: string, text: string): Record<Environment, number> {
  const [, sandbox, production] = /^sandbox=([1-9]\d{0,8}),production=([1-9]\d{0,8})$/.exec(text) ?? [];
  if (sandbox === undefined || production === undefined) throw new Error(`${name} must be sandbox=…,production=…`);
  return { sandbox: Number(sandbox), production: Number(production) };
}

function parseCount(name: string, text: string, least = 0): number {
  if (!/^\d{1,6}$/.test(text)) throw new Error(`${name} is not a number`);
  if (Number(text) < least) throw new Error(`${name} is less than ${least}`);
  return Number(text);
}

/** Whole units of any currency, with at most two decimals. */
function parseUnits(name: string, text: string): string {
  if (!/^\d{1,9}(\.\d{1,2})?$/.test(text)) throw new Error(`${name} is not an amount`);
  return text;
}

function parseAttestationProof(text: string): Config["attestationProof"] {
  if (text === "required" || text === "optional") return text;
  throw new Error("ATTESTATION_PROOF must be required or optional");
}

function parseStatusPage(text: string): string | null {
  if (text === "") return null;
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol === "https:" && url.username === "" && url.password === "") return url.href;
  throw new Error("STATUS_PAGE_URL must be empty or an https URL");
}
