// The settlement receipt (FAC-15), a compact JWS by the CA key over the facts that facilitation found on-chain, so that either party can prove
// the settlement offline. It never expires: it states facts and grants nothing.
import { isDid } from "./did.ts";
import type { KeySource, SigningKey } from "./jwks.ts";
import {
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
  /** The contract's key of the settlement, which its payouts and refunds name: `0x` and 64 hex digits. */
  readonly settlement_key: string;
  /** The address that paid. */
  readonly payer: string;
  /** The address that receives payouts and refunds of the settlement. */
  readonly refund_to: string;
  /** The address that received the provider's part. */
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

export type ReceiptCheck = StatementCheck<ReceiptClaims>;

const RECEIPT: StatementKind<ReceiptClaims> = {
  typ: RECEIPT_TYPE,
  name: "receipt",
  claims: {
    iss: isText,
    iat: isCount,
    jti: isText,
    transaction_id: isText,
    intent_id: isText,
    provider_did: isDid,
    consumer_did: isDid,
    network: isText,
    caip2: isCaip2,
    contract: isAddressText,
    token: isAddressText,
    tx_hash: isChainHash,
    log_index: isCount,
    settlement_key: isChainHash,
    payer: isAddressText,
    refund_to: isAddressText,
    operational_wallet: isAddressText,
    gross_amt: isAmount,
    fee_amt: isAmount,
    escrow_credited: isAmount,
    operational_amt: isAmount,
    currency: isText,
    settled_at: isInstant,
    dispute_window_closes_at: (value) => value === null || isInstant(value),
    provider_aid_version: isCount,
  },
};

/**
 * Signs a receipt.
 *
 * @returns a compact JWS with the header `{alg: "ES256", typ: "aeap-receipt+jwt", kid}`
 * @throws TypeError naming a malformed claim
 */
export const signReceipt = (claims: ReceiptClaims, caKey: SigningKey): Promise<string> =>
  signStatement(RECEIPT, claims, caKey);

/**
 * Verifies a receipt offline. Never throws on the content of `jws`.
 *
 * @param keys the issuer's published keys
 * @param options.issuer the only `iss` accepted
 */
export const verifyReceipt = (
  jws: unknown,
  keys: KeySource,
  options: { readonly issuer: string },
): Promise<ReceiptCheck> => verifyStatement(RECEIPT, jws, keys, options);
