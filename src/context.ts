// Env (bindings, parsed once) and Deps (what the domain works with): the only place where adapters are chosen.
import { type AccessIdentify, type AccessTeam, openAccess, parseAccessTeam } from "./auth/access.ts";
import { type CertificateAuthority, openCertificateAuthority } from "./auth/certificate-authority.ts";
import { type KeyBrands, parseKeyBrands } from "./auth/management-key.ts";
import { createChainGateway } from "./chain/evm.ts";
import type { ChainGateway, Network } from "./chain/gateway.ts";
import { parseNetworks } from "./chain/networks.ts";
import { type Clock, systemClock } from "./core/clock.ts";
import { type Database, openDatabase } from "./db/batch.ts";
import type { Environment } from "./db/scope.ts";
import type { AgentObject } from "./objects/agent-object.ts";
import type { ChainSigner } from "./objects/chain-signer.ts";
import type { IdempotencyObject } from "./objects/idempotency-object.ts";
import type { ReplayGuard } from "./objects/replay-guard.ts";
import { parseRatingParameters, type RatingMethod, type RatingMinimum } from "./ratings/method.ts";

export type Env = {
  DB: D1Database;
  AGENTS: DurableObjectNamespace<AgentObject>;
  IDEMPOTENCY: DurableObjectNamespace<IdempotencyObject>;
  REPLAY: DurableObjectNamespace<ReplayGuard>;
  CHAIN_SIGNER: DurableObjectNamespace<ChainSigner>;
  JOBS: Queue<Job>;
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
  RATING_MIN_INTERACTIONS: string;
  RATING_MIN_COUNTERPARTIES: string;
  RATING_PARAMETERS: string;
  RATE_CREDENTIAL_QUOTA: string;
  RATE_ADDRESS_QUOTA: string;
  RATE_WINDOW_SECONDS: string;
  // Secrets
  CA_KEYS: string;
  SERVICE_DID: string;
  NONCE_KEY: string;
  OPERATOR_KEY_HASHES: string;
  CHAIN_REGISTRAR_KEY: string;
};

/** Work that goes on after the answer, through the queue. */
export type Job =
  | { kind: "provision_market"; did: string; environment: string; network: string }
  | { kind: "follow_threshold"; did: string; environment: string; network: string };

export type Config = {
  issuer: string;
  operatorName: string;
  serviceDid: string;
  networks: readonly Network[];
  jurisdictions: ReadonlySet<string>;
  managementKeyHeaders: readonly string[];
  managementKeyBrands: KeyBrands;
  /** Null: Cloudflare Access is off. */
  access: AccessTeam | null;
  intentLifeSeconds: number;
  rating: Readonly<Record<Environment, RatingMethod>>;
  rate: { credentialQuota: number; addressQuota: number; windowSeconds: number };
  operatorKeyHashes: ReadonlySet<string>;
};

export type Deps = {
  readonly env: Env;
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly chain: ChainGateway;
  readonly access: AccessIdentify | null;
  readonly ca: () => Promise<CertificateAuthority>;
};

const cached = new WeakMap<Env, Deps>();

/** The same Deps for every request of an isolate: keys are imported once. `origin` is the issuer where none is set. */
export function depsFor(env: Env, origin: string): Deps {
  const known = cached.get(env);
  if (known && (env.ISSUER !== "" || known.config.issuer === origin)) return known;
  const deps = buildDeps(env, origin);
  cached.set(env, deps);
  return deps;
}

export function buildDeps(env: Env, origin: string, clock: Clock = systemClock): Deps {
  const config = parseConfig(env, origin);
  let ca: Promise<CertificateAuthority> | undefined;
  return {
    env,
    config,
    clock,
    db: openDatabase(env.DB),
    chain: createChainGateway(config.networks),
    access: config.access && openAccess(config.access),
    ca: () => {
      ca ??= openCertificateAuthority(env.CA_KEYS);
      return ca;
    },
  };
}

function parseConfig(env: Env, origin: string): Config {
  const ratingParameters = parseRatingParameters(env.RATING_PARAMETERS);
  return {
    issuer: env.ISSUER || origin,
    operatorName: env.OPERATOR_NAME,
    serviceDid: env.SERVICE_DID,
    networks: parseNetworks(env.NETWORKS),
    jurisdictions: new Set(splitList(env.JURISDICTIONS)),
    managementKeyHeaders: splitList(env.MANAGEMENT_KEY_HEADERS),
    managementKeyBrands: parseKeyBrands(env.MANAGEMENT_KEY_BRANDS),
    access: parseAccessTeam(env.ACCESS_TEAM_DOMAIN, env.ACCESS_AUDIENCE),
    intentLifeSeconds: Number(env.INTENT_LIFE_SECONDS),
    rating: {
      sandbox: { ...ratingParameters, minimum: minimumOf(env, "sandbox") },
      production: { ...ratingParameters, minimum: minimumOf(env, "production") },
    },
    rate: {
      credentialQuota: Number(env.RATE_CREDENTIAL_QUOTA),
      addressQuota: Number(env.RATE_ADDRESS_QUOTA),
      windowSeconds: Number(env.RATE_WINDOW_SECONDS),
    },
    operatorKeyHashes: new Set(splitList(env.OPERATOR_KEY_HASHES ?? "")),
  };
}

const minimumOf = (env: Env, environment: Environment): RatingMinimum => ({
  interactions: countOf(env.RATING_MIN_INTERACTIONS, environment),
  counterparties: countOf(env.RATING_MIN_COUNTERPARTIES, environment),
});

/** `sandbox=1,production=10` */
function countOf(text: string, environment: Environment): number {
  const count = Number(new Map(splitList(text).map((entry) => entry.split("=") as [string, string])).get(environment));
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`no count for ${environment} in "${text}"`);
  return count;
}

const splitList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
