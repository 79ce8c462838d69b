// The award of a dispute (DSP-16), a compact JWS by the CA key over the arbiter's decision, so that either party can prove it offline. It never
// expires: it states a decision, not its payment.
import { isDid } from "./did.ts";
import type { KeySource, SigningKey } from "./jwks.ts";
import {
  equalsOneOf,
  isAddressText,
  isAmount,
  isCaip2,
  isChainHash,
  isCount,
  isInstant,
  isText,
  type StatementCheck,
  type StatementKind,
  signStatement,
  verifyStatement,
} from "./statement.ts";

/** The header's `typ`, exactly. */
export const AWARD_TYPE = "aeap-award+jwt";

/** The decision. Amounts are decimal strings in whole units of `currency`. */
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
  /** The arbiter's explanation. */
  readonly finding: string;
  /** ISO 8601, UTC, on the clock that rules the dispute. */
  readonly filed_at: string;
  readonly resolved_at: string;
};

export type AwardCheck = StatementCheck<AwardClaims>;

const AWARD: StatementKind<AwardClaims> = {
  typ: AWARD_TYPE,
  name: "award",
  claims: {
    iss: isText,
    iat: isCount,
    jti: isText,
    environment: equalsOneOf("sandbox", "production"),
    transaction_id: isText,
    provider_did: isDid,
    consumer_did: isDid,
    network: isText,
    caip2: isCaip2,
    contract: isAddressText,
    settlement_key: isChainHash,
    reason: equalsOneOf("not_delivered", "not_as_described", "unauthorized", "other"),
    resolution: equalsOneOf("upheld", "partially_upheld", "rejected"),
    disputed_amount: isAmount,
    refund_amount: isAmount,
    bounty_amount: isAmount,
    bounty_owed_by: equalsOneOf("provider", "consumer"),
    currency: isText,
    finding: isText,
    filed_at: isInstant,
    resolved_at: isInstant,
  },
};

/**
 * Signs an award.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-award+jwt", kid}`
 * @throws TypeError naming a malformed claim
 */
export const signAward = (claims: AwardClaims, caKey: SigningKey): Promise<string> =>
  signStatement(AWARD, claims, caKey);

/**
 * Verifies an award offline. Never throws on the content of `jws`.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export const verifyAward = (jws: unknown, keys: KeySource, options: { readonly issuer: string }): Promise<AwardCheck> =>
  verifyStatement(AWARD, jws, keys, options);
