// The settlement receipt (FAC-15), a compact JWS by the CA key over the facts that facilitation found on-chain, so that either party can
// prove the settlement offline. It never expires: it states facts, not rights.

import { encodeUtf8 } from "../core/encoding.ts";
import { isDid } from "./did.ts";
import type { KeySource, SigningKey } from "./jwks.ts";
import { type JsonObject, type JwsFault, signJws, verifyJws } from "./jws.ts";

/** The header's `typ`, exactly. */
export const RECEIPT_TYPE = "aeap-receipt+jwt";

/** The facts of a receipt. Amounts are decimal strings in whole units of `currency`. */
export type ReceiptClaims = {
  readonly iss: string;
  /** Epoch seconds. */
  readonly iat: number;
  /** The facilitation_id. */
  readonly jti: string;
  readonly transaction_id: string;
  readonly intent_id: string;
  readonly provider_did: string;
  readonly consumer_did: string;
  /** The network's name, such as `base-sepolia`. */
  readonly network: string;
  /** CAIP-2, such as `eip155:84532`. */
  readonly caip2: string;
  /** Address of the settlement contract: `0x` and 40 hex digits. */
  readonly contract: string;
  /** Address of the token. */
  readonly token: string;
  /** `0x` and 64 hex digits. */
  readonly tx_hash: string;
  /** Position of the Settled event among the logs of its transaction, from 0. */
  readonly log_index: number;
  /** The key of the settlement in the contract, which payouts and refunds of it name: `0x` and 64 hex digits. */
  readonly settlement_key: string;
  /** The address that paid. */
  readonly payer: string;
  /** The address that payouts and refunds of it go to. */
  readonly refund_to: string;
  /** The address that the provider's part went to. */
  readonly operational_wallet: string;
  readonly gross_amt: string;
  readonly fee_amt: string;
  readonly escrow_credited: string;
  readonly operational_amt: string;
  readonly currency: string;
  /** ISO 8601, UTC. */
  readonly settled_at: string;
  /** ISO 8601, UTC; null means final sale. */
  readonly dispute_window_closes_at: string | null;
  readonly provider_aid_version: number;
};

/** Why a receipt is not accepted. */
export type ReceiptFault = JwsFault | "claims_malformed" | "issuer_mismatch";

export type ReceiptCheck =
  | { readonly ok: true; readonly claims: ReceiptClaims; readonly kid: string }
  | {
      readonly ok: false;
      readonly reason: ReceiptFault;
      /** The claim at fault, for `claims_malformed`. */
      readonly claim?: string;
    };

/**
 * Signs a receipt.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-receipt+jwt", kid}`
 * @throws TypeError naming a malformed claim
 */
export async function signReceipt(claims: ReceiptClaims, caKey: SigningKey): Promise<string> {
  const claim = malformedClaim(claims);
  if (claim !== undefined) throw new TypeError(`receipt claim ${claim} is malformed`);
  return signJws(encodeUtf8(JSON.stringify(claims)), RECEIPT_TYPE, caKey);
}

/**
 * Verifies a receipt offline. Never throws on what `jws` holds.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export async function verifyReceipt(
  jws: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<ReceiptCheck> {
  const checked = await verifyJws(jws, RECEIPT_TYPE, keys);
  if (!checked.ok) return checked;
  const claim = malformedClaim(checked.payload);
  if (claim !== undefined) return { ok: false, reason: "claims_malformed", claim };
  const claims = checked.payload as ReceiptClaims;
  if (claims.iss !== options.issuer) return { ok: false, reason: "issuer_mismatch" };
  return { ok: true, claims, kid: checked.kid };
}

type Judge = (value: unknown) => boolean;
const matches =
  (pattern: RegExp): Judge =>
  (value) =>
    typeof value === "string" && pattern.test(value);
const text = matches(/^.+$/s);
const amount = matches(/^(?:0|[1-9]\d*)(?:\.\d+)?$/);
const address = matches(/^0x[0-9a-fA-F]{40}$/);
const instant = matches(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/);
const count: Judge = (value) => Number.isSafeInteger(value) && (value as number) >= 0;

const CLAIMS: { readonly [claim in keyof ReceiptClaims]: Judge } = {
  iss: text,
  iat: count,
  jti: text,
  transaction_id: text,
  intent_id: text,
  provider_did: isDid,
  consumer_did: isDid,
  network: text,
  caip2: matches(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/),
  contract: address,
  token: address,
  tx_hash: matches(/^0x[0-9a-f]{64}$/),
  log_index: count,
  settlement_key: matches(/^0x[0-9a-f]{64}$/),
  payer: address,
  refund_to: address,
  operational_wallet: address,
  gross_amt: amount,
  fee_amt: amount,
  escrow_credited: amount,
  operational_amt: amount,
  currency: text,
  settled_at: instant,
  dispute_window_closes_at: (value) => value === null || instant(value),
  provider_aid_version: count,
};

function malformedClaim(claims: JsonObject): string | undefined {
  return Object.entries(CLAIMS).find(([claim, judge]) => !judge(claims[claim]))?.[0];
}
