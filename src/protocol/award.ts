// The award of a dispute (DSP-16), a compact JWS by the CA key over what the arbiter decided, so that either party can prove it offline. It never
// expires: it states a decision, not its payment.

import { encodeUtf8 } from "../core/encoding.ts";
import { isDid } from "./did.ts";
import type { KeySource, SigningKey } from "./jwks.ts";
import { type JsonObject, type JwsFault, signJws, verifyJws } from "./jws.ts";

/** The header's `typ`, exactly. */
export const AWARD_TYPE = "aeap-award+jwt";

/** What was decided. Amounts are decimal strings in whole units of `currency`. */
export type AwardClaims = {
  readonly iss: string;
  /** Epoch seconds of the decision, in real time. */
  readonly iat: number;
  /** The dispute_id. */
  readonly jti: string;
  readonly environment: "sandbox" | "production";
  readonly transaction_id: string;
  readonly provider_did: string;
  readonly consumer_did: string;
  /** The network's name, such as `base-sepolia`. */
  readonly network: string;
  /** CAIP-2, such as `eip155:84532`. */
  readonly caip2: string;
  /** Address of the settlement contract: `0x` and 40 hex digits. */
  readonly contract: string;
  /** The key of the settlement in the contract: `0x` and 64 hex digits. */
  readonly settlement_key: string;
  /** `not_delivered`, `not_as_described`, `unauthorized` or `other`. */
  readonly reason: string;
  readonly resolution: "upheld" | "partially_upheld" | "rejected";
  readonly disputed_amount: string;
  readonly refund_amount: string;
  readonly bounty_amount: string;
  /** The side that owes the bounty. */
  readonly bounty_owed_by: "provider" | "consumer";
  readonly currency: string;
  /** The arbiter's words. */
  readonly finding: string;
  /** ISO 8601, UTC, on the clock that rules the dispute. */
  readonly filed_at: string;
  readonly resolved_at: string;
};

/** Why an award is not accepted. */
export type AwardFault = JwsFault | "claims_malformed" | "issuer_mismatch";

export type AwardCheck =
  | { readonly ok: true; readonly claims: AwardClaims; readonly kid: string }
  | {
      readonly ok: false;
      readonly reason: AwardFault;
      /** The claim at fault, for `claims_malformed`. */
      readonly claim?: string;
    };

/**
 * Signs an award.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-award+jwt", kid}`
 * @throws TypeError naming a malformed claim
 */
export async function signAward(claims: AwardClaims, caKey: SigningKey): Promise<string> {
  const claim = malformedClaim(claims);
  if (claim !== undefined) throw new TypeError(`award claim ${claim} is malformed`);
  return signJws(encodeUtf8(JSON.stringify(claims)), AWARD_TYPE, caKey);
}

/**
 * Verifies an award offline. Never throws on what `jws` holds.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export async function verifyAward(
  jws: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<AwardCheck> {
  const checked = await verifyJws(jws, AWARD_TYPE, keys);
  if (!checked.ok) return checked;
  const claim = malformedClaim(checked.payload);
  if (claim !== undefined) return { ok: false, reason: "claims_malformed", claim };
  const claims = checked.payload as AwardClaims;
  if (claims.iss !== options.issuer) return { ok: false, reason: "issuer_mismatch" };
  return { ok: true, claims, kid: checked.kid };
}

type Judge = (value: unknown) => boolean;
const matches =
  (pattern: RegExp): Judge =>
  (value) =>
    typeof value === "string" && pattern.test(value);
const oneOf =
  (...words: string[]): Judge =>
  (value) =>
    words.includes(value as string);
const text = matches(/^.+$/s);
const amount = matches(/^(?:0|[1-9]\d*)(?:\.\d+)?$/);
const instant = matches(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/);

const CLAIMS: { readonly [claim in keyof AwardClaims]: Judge } = {
  iss: text,
  iat: (value) => Number.isSafeInteger(value) && (value as number) >= 0,
  jti: text,
  environment: oneOf("sandbox", "production"),
  transaction_id: text,
  provider_did: isDid,
  consumer_did: isDid,
  network: text,
  caip2: matches(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/),
  contract: matches(/^0x[0-9a-fA-F]{40}$/),
  settlement_key: matches(/^0x[0-9a-f]{64}$/),
  reason: oneOf("not_delivered", "not_as_described", "unauthorized", "other"),
  resolution: oneOf("upheld", "partially_upheld", "rejected"),
  disputed_amount: amount,
  refund_amount: amount,
  bounty_amount: amount,
  bounty_owed_by: oneOf("provider", "consumer"),
  currency: text,
  finding: text,
  filed_at: instant,
  resolved_at: instant,
};

function malformedClaim(claims: JsonObject): string | undefined {
  return Object.entries(CLAIMS).find(([claim, judge]) => !judge(claims[claim]))?.[0];
}
