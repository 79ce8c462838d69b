// The Agent Identity Document, one signed record with five pillars (IDN-15 to IDN-20).
// The signed text is the RFC 8785 form of the document without `proof`, `live` and `status`. A reader must not trust `live` or `status` in the
// document, but request the live status.
// One signature serves both forms: detached in `proof`, and re-attached to the same bytes as a compact JWS.
import { encodeBase64Url, encodeUtf8 } from "../core/encoding.ts";
import { toCanonicalJson } from "./canonical-json.ts";
import type { CertTier, Delegation, EconomicRole, SignedScope } from "./certificate.ts";
import { isDid } from "./did.ts";
import type { KeySource, PublicJwk, SigningKey } from "./jwks.ts";
import { attachPayload, detachPayload, isObject, type JsonObject, type JwsFault, signJws, verifyJws } from "./jws.ts";

/** The header's `typ`, exactly, in both forms. */
export const AID_TYPE = "aeap-aid+jws";

/** The agent's identity, its principal, and its scope. */
export type IdentityPillar = {
  readonly did: string;
  readonly profile: {
    readonly display_name: string;
    readonly description?: string | null;
    /** Link to a schema.org OfferCatalog; null on consumers. Only the link is signed. */
    readonly catalog_url: string | null;
  };
  readonly economic_role: EconomicRole;
  readonly cert_tier: CertTier;
  readonly principal: {
    readonly id: string;
    readonly name: string;
    /** ISO 3166-1 alpha-2. */
    readonly country: string;
    readonly verification: {
      readonly attestation_id: string;
      readonly verifier_id: string;
      readonly model: string;
      readonly issued_at: string;
      readonly expires_at: string;
      readonly tier?: CertTier;
      /** Whether the service verified a proof by the Verifier. Absent from documents of earlier versions, which do not state it. */
      readonly signed?: boolean;
    };
  };
  readonly endpoint_url: string | null;
  readonly scope: SignedScope;
  /** Market codes such as `US-USDC`. */
  readonly authorized_markets: readonly string[];
  /** The certificate JWT; null before activation. */
  readonly certificate: string | null;
  /** The agent's public key; null before activation. */
  readonly public_key_jwk: PublicJwk | null;
  /** The agent that delegated; null if none did. */
  readonly delegation: Delegation | null;
};

/** The agent's history in numbers. */
export type PerformancePillar = {
  /** 0.00 to 1.00; null when unrated. */
  readonly agent_rating: number | null;
  readonly interactions: number;
  /** Decimal strings in whole units, one entry per currency. */
  readonly settled_volume: readonly { readonly currency: string; readonly amount: string }[];
  readonly as_of: string;
};

/** The escrows of one currency. Amounts are decimal strings in whole units of it. */
export type LiabilityProfile = {
  readonly total_balance: string;
  readonly effective_threshold: string;
  readonly escrow_state: string;
  readonly currency: string;
};

/** The escrow that covers the agent's sales. */
export type EscrowPillar = {
  /** The profile of the currency whose escrows are in the worst state. */
  readonly liability_profile: LiabilityProfile;
  /** One profile per currency. */
  readonly liability_profiles: readonly LiabilityProfile[];
  readonly wallets: readonly {
    readonly market: string;
    readonly network: string;
    /** CAIP-2, such as `eip155:84532`. */
    readonly caip2: string;
    readonly escrow_wallet: string;
    readonly operational_wallet: string;
  }[];
};

/** The agent's disputes, and the window in which a buyer may dispute. */
export type DisputesPillar = {
  readonly open: number;
  readonly resolved_for: number;
  readonly resolved_against: number;
  /** 0 means final sale. */
  readonly dispute_window_days: number;
  readonly policy: string;
};

/** The operator and the jurisdiction. */
export type GovernancePillar = {
  readonly operator: string;
  readonly jurisdiction: string;
  readonly enterprise: null;
};

/** The signed content. Instants are ISO 8601 in UTC. */
export type AidContent = {
  /** Increases by one with every change of identity, scope, key, principal, environment or market. */
  readonly version: number;
  /** Increases by one with every change of the signed content. */
  readonly revision: number;
  readonly did: string;
  readonly issuer: string;
  readonly issued_at: string;
  readonly identity: IdentityPillar;
  readonly performance: PerformancePillar;
  /** Null for roles without escrow. */
  readonly escrow: EscrowPillar | null;
  readonly disputes: DisputesPillar;
  readonly governance: GovernancePillar;
};

/** Lifecycle state at an instant: never signed, so never to be trusted from the document. */
export type AidLive = { readonly status: string; readonly environment: string; readonly as_of: string };

/** The document as it is served. */
export type AidDocument = AidContent & {
  /** Detached JWS `header..signature`; null on a draft. */
  readonly proof: string | null;
  readonly live: AidLive;
  /** Only in the answer to a registration. */
  readonly status?: string;
};

/** The result of signing, for storage: later reads need neither the key nor canonicalisation. */
export type SignedAid = {
  /** The member `proof`. */
  readonly proof: string;
  /** The signed text. */
  readonly canonical: string;
};

/** Why a document is not accepted. */
export type AidFault =
  | JwsFault
  | "document_malformed" // not an object, not a JSON value, or without a member that every reader needs
  | "proof_missing" // a draft, or a document without its proof
  | "not_canonical" // compact form: the payload is not in its canonical form
  | "issuer_mismatch"
  | "subject_mismatch"; // `did` is not a DID, or not `identity.did`

export type AidCheck =
  | { readonly ok: true; readonly content: AidContent; readonly kid: string }
  | { readonly ok: false; readonly reason: AidFault };

const UNSIGNED = ["proof", "live", "status"] as const;

/**
 * The text that is signed: RFC 8785 of the document without `proof`, `live` and top-level `status`.
 * @throws TypeError if a member is not a JSON value
 */
export function toCanonicalAid(document: AidContent | AidDocument | JsonObject): string {
  const content: Record<string, unknown> = { ...document };
  for (const member of UNSIGNED) delete content[member];
  return toCanonicalJson(content);
}

/**
 * Signs a document with the CA key. Its members `proof`, `live` and `status`, if any, are left out.
 *
 * @returns the detached JWS (header `{alg: "ES256", typ: "aeap-aid+jws", kid}`), and the signed text
 * @throws TypeError if the document has a member that is not a JSON value, or `verifyAid` would refuse it
 */
export async function signAid(document: AidContent | AidDocument, caKey: SigningKey): Promise<SignedAid> {
  const fault = findContentFault(document, document.issuer);
  if (fault !== undefined) throw new TypeError(fault);
  const canonical = toCanonicalAid(document);
  const jws = await signJws(encodeUtf8(canonical), AID_TYPE, caKey);
  return { proof: detachPayload(jws), canonical };
}

/**
 * Verifies a document with only the published keys. Never throws on its content.
 *
 * @param aid the JSON document (with `proof`), or the compact JWS as a string
 * @param keys the issuer's published keys
 * @param options.issuer the only `issuer` accepted
 * @returns the signed content, without the unsigned members `proof`, `live` and `status`
 */
export async function verifyAid(
  aid: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<AidCheck> {
  const compact = typeof aid === "string" ? { ok: true as const, jws: aid } : compactForm(aid);
  if (!compact.ok) return compact;
  const jws = await verifyJws(compact.jws, AID_TYPE, keys);
  if (!jws.ok) return jws;
  if (toCanonicalOrUndefined(jws.payload) !== jws.payloadText) return { ok: false, reason: "not_canonical" };
  const fault = findContentFault(jws.payload, options.issuer);
  if (fault !== undefined) return { ok: false, reason: fault };
  return { ok: true, content: jws.payload as AidContent, kid: jws.kid };
}

/**
 * The compact JWS of a signed document (`Accept: application/jwt`): the detached signature with its payload inserted again.
 *
 * @param signed the stored text and proof, or the document itself
 * @throws TypeError if the document has no proof, or one that is not a detached JWS
 */
export function toAidJwt(signed: SignedAid | AidDocument): string {
  const canonical = "canonical" in signed ? signed.canonical : toCanonicalAid(signed);
  const jwt = attachPayload(signed.proof ?? "", encodeBase64Url(encodeUtf8(canonical)));
  if (jwt === undefined) throw new TypeError("the document carries no detached JWS");
  return jwt;
}

type Compact = { ok: true; jws: string } | { ok: false; reason: AidFault };

function compactForm(document: unknown): Compact {
  if (!isObject(document)) return { ok: false, reason: "document_malformed" };
  const { proof } = document;
  if (proof === null || proof === undefined) return { ok: false, reason: "proof_missing" };
  const canonical = toCanonicalOrUndefined(document);
  if (canonical === undefined) return { ok: false, reason: "document_malformed" };
  const jws = typeof proof === "string" ? attachPayload(proof, encodeBase64Url(encodeUtf8(canonical))) : undefined;
  return jws === undefined ? { ok: false, reason: "malformed" } : { ok: true, jws };
}

function toCanonicalOrUndefined(document: JsonObject): string | undefined {
  try {
    return toCanonicalAid(document);
  } catch {
    return undefined;
  }
}

// Checks only members on which every reader relies. Members that a later version adds are signed like the others.
function findContentFault(content: JsonObject, issuer: string): AidFault | undefined {
  const { version, revision, did, identity, performance, escrow, disputes, governance } = content;
  if (!Number.isSafeInteger(version) || !Number.isSafeInteger(revision)) return "document_malformed";
  if (![identity, performance, disputes, governance].every(isObject)) return "document_malformed";
  if (escrow !== null && !isObject(escrow)) return "document_malformed";
  if (content["issuer"] !== issuer) return "issuer_mismatch";
  if (!isDid(did) || !isObject(identity) || identity["did"] !== did) return "subject_mismatch";
  return undefined;
}
