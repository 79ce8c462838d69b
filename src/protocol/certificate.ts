// The agent certificate (IDN-6 to IDN-9), an ES256 JWT by the operator's CA that binds a public key to a DID, role, scope and principal. It is
// verified offline, with only the published keys. The order of the checks: the JWS (jws.ts), then the form of the claims, issuer, subject, key, and
// last the time. A valid certificate says nothing about the agent's present status, escrow or rating: these are read live.
import type { CryptoKey } from "jose";
import { encodeUtf8 } from "../core/encoding.ts";
import { isDid } from "./did.ts";
import { importPublicJwk, type KeySource, type PublicJwk, parsePublicJwk, type SigningKey } from "./jwks.ts";
import { isObject, type JsonObject, type JwsFault, signJws, verifyJws } from "./jws.ts";

/** The header's `typ`, exactly. */
export const CERTIFICATE_TYPE = "aeap-cert+jwt";

/** A value of this list, or one that a later version adds: readers must tolerate it (HTTP-33). */
export type Open<Known extends string> = Known | (string & Record<never, never>);

export type EconomicRole = Open<"CONSUMER" | "PROVIDER" | "ENTERPRISE">;
export type CertTier = Open<"TIER_1" | "TIER_2" | "TIER_3">;

/** The scope as signed. Amounts are decimal strings in whole units. */
export type SignedScope = {
  readonly authorized_actions: readonly string[];
  readonly capabilities: readonly string[];
  readonly dispute_window_days?: number;
  readonly max_transaction_value?: string | null;
  readonly spending_limit?: { readonly amount: string; readonly currency: string; readonly window_days: number } | null;
  readonly minimum_counterparty_cert_tier?: CertTier | null;
  readonly minimum_counterparty_ar?: number | null;
};

/** The nearest delegator, and the whole chain, nearest first. */
export type Delegation = { readonly delegated_by: string; readonly chain: readonly string[] };

/** The claims under `aeap`. Members that a later version adds are kept unchanged. */
export type AgentClaims = {
  readonly version: "1";
  /** Equal to `sub`. */
  readonly agent_id: string;
  readonly economic_role: EconomicRole;
  readonly cert_tier: CertTier;
  readonly principal_id: string;
  readonly principal_name: string;
  /** ISO 3166-1 alpha-2. */
  readonly principal_country: string;
  readonly authorized_actions: readonly string[];
  readonly capabilities: readonly string[];
  readonly scope: SignedScope;
  /** Absent for an agent that acts under its own scope. */
  readonly delegation?: Delegation;
  readonly attestation: {
    readonly attestation_id: string;
    readonly verifier_id: string;
    readonly model: string;
    /** Whether the service verified a proof by the Verifier. Absent from certificates of earlier versions, which do not state it. */
    readonly signed?: boolean;
  };
};

/** All claims of a certificate. Instants are epoch seconds. */
export type CertificateClaims = {
  readonly iss: string;
  readonly sub: string;
  readonly jti: string;
  readonly iat: number;
  readonly nbf: number;
  readonly exp: number;
  /** The agent's public key (RFC 7800). */
  readonly cnf: { readonly jwk: PublicJwk };
  /** IETF Token Status List. */
  readonly status: { readonly status_list: { readonly idx: number; readonly uri: string } };
  readonly aeap: AgentClaims;
};

/** Why a certificate is not accepted, for the log: the API has fewer codes. */
export type CertificateFault =
  | JwsFault
  | "claims_malformed"
  | "issuer_mismatch"
  | "subject_mismatch" // `sub` is not a DID, or not `aeap.agent_id`
  | "agent_key_private" // `cnf.jwk` has a private member
  | "agent_key_invalid" // `cnf.jwk` is not a point of P-256
  | "not_yet_valid"
  | "expired";

export type CertificateCheck =
  | {
      readonly ok: true;
      readonly claims: CertificateClaims;
      /** The CA key that signed it. */
      readonly kid: string;
      /** `cnf.jwk`, imported: pass it to `verifyProof`. */
      readonly agentKey: CryptoKey;
    }
  | {
      readonly ok: false;
      readonly reason: CertificateFault;
      /** For `claims_malformed`: the faulty claim, as a dotted path. */
      readonly claim?: string;
    };

export type CertificateOptions = {
  /** The only `iss` accepted, character by character. */
  readonly issuer: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** How much the two clocks may differ, for `nbf` and `exp`. Default 0. */
  readonly clockToleranceSeconds?: number;
};

/**
 * Signs a certificate.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-cert+jwt", kid}`
 * @throws TypeError if no verifier would accept the claims
 */
export async function issueCertificate(claims: CertificateClaims, caKey: SigningKey): Promise<string> {
  const claim = findMalformedClaim(claims);
  if (claim !== undefined) throw new TypeError(`certificate claim ${claim} is malformed`);
  if (!isDid(claims.sub) || claims.sub !== claims.aeap.agent_id) throw new TypeError("sub is not aeap.agent_id");
  const agentKey = parsePublicJwk(claims.cnf.jwk);
  if (!agentKey.ok) throw new TypeError(`cnf.jwk: ${agentKey.reason}`);
  const payload = { ...claims, cnf: { jwk: agentKey.jwk } };
  return signJws(encodeUtf8(JSON.stringify(payload)), CERTIFICATE_TYPE, caKey);
}

/**
 * Verifies a certificate offline.
 *
 * @param jwt the header `AEAP-Certificate`, or the member of a body, with any content
 * @param keys the issuer's published keys: imported ones by `kid` (cheapest), a resolver, or the JWKS itself
 * @returns the claims and the agent's key, or the first reason against it. Never throws on the content of `jwt`
 */
export async function verifyCertificate(
  jwt: unknown,
  keys: KeySource,
  options: CertificateOptions,
): Promise<CertificateCheck> {
  const jws = await verifyJws(jwt, CERTIFICATE_TYPE, keys);
  if (!jws.ok) return jws;
  const claim = findMalformedClaim(jws.payload);
  if (claim !== undefined) return { ok: false, reason: "claims_malformed", claim };
  const claims = jws.payload as CertificateClaims;
  if (claims.iss !== options.issuer) return { ok: false, reason: "issuer_mismatch" };
  if (!isDid(claims.sub) || claims.sub !== claims.aeap.agent_id) return { ok: false, reason: "subject_mismatch" };
  const jwk = parsePublicJwk(claims.cnf.jwk);
  if (!jwk.ok) return { ok: false, reason: jwk.reason === "jwk_private" ? "agent_key_private" : "agent_key_invalid" };
  const late = findTimeFault(claims, options);
  if (late !== undefined) return { ok: false, reason: late };
  const agentKey = await importPublicJwk(jwk.jwk).catch(() => undefined);
  if (agentKey === undefined) return { ok: false, reason: "agent_key_invalid" };
  return { ok: true, claims, kid: jws.kid, agentKey };
}

// RFC 7519, 4.1.4 and 4.1.5: refused at and after `exp`, and before `nbf`.
function findTimeFault(
  claims: CertificateClaims,
  options: CertificateOptions,
): "expired" | "not_yet_valid" | undefined {
  const seconds = options.now / 1_000;
  const tolerance = options.clockToleranceSeconds ?? 0;
  if (seconds >= claims.exp + tolerance) return "expired";
  if (seconds < claims.nbf - tolerance) return "not_yet_valid";
  return undefined;
}

type Judge = (value: unknown) => boolean;
const isNonEmptyText: Judge = (value) => typeof value === "string" && value !== "";
const isFiniteNumber: Judge = (value) => typeof value === "number" && Number.isFinite(value);
const isIndex: Judge = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isTextList: Judge = (value) => Array.isArray(value) && value.every((item) => typeof item === "string");
const acceptAbsent =
  (judge: Judge): Judge =>
  (value) =>
    value === undefined || judge(value);
/** Also accepts null, which states that there is none. */
const acceptNull = (judge: Judge): Judge => acceptAbsent((value) => value === null || judge(value));
const isSpendingLimit: Judge = (value) =>
  isObject(value) &&
  isNonEmptyText(value["amount"]) &&
  isNonEmptyText(value["currency"]) &&
  isFiniteNumber(value["window_days"]);
const isDelegation: Judge = (value) =>
  isObject(value) && isNonEmptyText(value["delegated_by"]) && isTextList(value["chain"]);

// The members on which every reader may rely, and members that may be absent but must not have another type. Roles and tiers may be any text,
// because a later version may add values (IDN-9).
const CLAIMS: readonly (readonly [path: string, judge: Judge])[] = [
  ["iss", isNonEmptyText],
  ["sub", isNonEmptyText],
  ["jti", isNonEmptyText],
  ["iat", isFiniteNumber],
  ["nbf", isFiniteNumber],
  ["exp", isFiniteNumber],
  ["cnf.jwk", isObject],
  ["status.status_list.idx", isIndex],
  ["status.status_list.uri", isNonEmptyText],
  ["aeap.version", (value) => value === "1"],
  ["aeap.agent_id", isNonEmptyText],
  ["aeap.economic_role", isNonEmptyText],
  ["aeap.cert_tier", isNonEmptyText],
  ["aeap.principal_id", isNonEmptyText],
  ["aeap.principal_name", isNonEmptyText],
  ["aeap.principal_country", isNonEmptyText],
  ["aeap.authorized_actions", isTextList],
  ["aeap.capabilities", isTextList],
  ["aeap.scope.authorized_actions", isTextList],
  ["aeap.scope.capabilities", isTextList],
  ["aeap.scope.dispute_window_days", acceptAbsent(isFiniteNumber)],
  ["aeap.scope.max_transaction_value", acceptNull(isNonEmptyText)],
  ["aeap.scope.spending_limit", acceptNull(isSpendingLimit)],
  ["aeap.scope.minimum_counterparty_cert_tier", acceptNull(isNonEmptyText)],
  ["aeap.scope.minimum_counterparty_ar", acceptNull(isFiniteNumber)],
  ["aeap.delegation", acceptAbsent(isDelegation)],
  ["aeap.attestation.attestation_id", isNonEmptyText],
  ["aeap.attestation.verifier_id", isNonEmptyText],
  ["aeap.attestation.model", isNonEmptyText],
  ["aeap.attestation.signed", acceptAbsent((value) => typeof value === "boolean")],
];

function findMalformedClaim(claims: JsonObject): string | undefined {
  return CLAIMS.find(([path, judge]) => !judge(pickMemberAt(claims, path)))?.[0];
}

function pickMemberAt(claims: JsonObject, path: string): unknown {
  let value: unknown = claims;
  for (const name of path.split(".")) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}
