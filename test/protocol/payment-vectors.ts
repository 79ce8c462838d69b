// The published vectors of payments, and what the code computes for each.
import {
  type Authorization,
  authorize,
  computeAuthorizationNonce,
  encodePayIntent,
  encodeSettle,
  encodeSettleWithAuthorization,
  type PayableIntent,
  type PayerTerms,
  type PreparedPayment,
  preparePayment,
} from "../../src/protocol/payment.ts";
import vectors from "./payment-vectors.json" with { type: "json" };

type Hex = `0x${string}`;
type Vector = Omit<(typeof vectors.payments)[number], "intent"> & { readonly intent: PayableIntent };

export const PAYER = vectors.payer as { private_key: Hex; address: Hex };
export const TEXTS = vectors.keccak256;
export const VECTORS: readonly Vector[] = vectors.payments;

export const terms = ({ authorization: { salt, validAfter, validBefore, ...rest } }: Vector) => ({
  ...rest,
  salt: salt as Hex,
  validAfter: BigInt(validAfter),
  validBefore: BigInt(validBefore),
});

export type Made = { readonly prepared: PreparedPayment; readonly authorization: Authorization };
export function make(vector: Vector): Made {
  const prepared = preparePayment(vector.intent, vector.terms as PayerTerms);
  return { prepared, authorization: authorize(prepared, terms(vector)) };
}

/** Everything that a vector states, computed by the code. */
export function stated(vector: Vector) {
  const { prepared, authorization } = make(vector);
  const { payment, settlementKey } = prepared;
  const { amount, deadline } = payment;
  return {
    payment: { ...payment, amount: String(amount), deadline: String(deadline) },
    settlement_key: settlementKey,
    nonce: computeAuthorizationNonce(payment, authorization.salt),
    typed_data: authorization.typedData,
    calldata: {
      settle: encodeSettle(payment),
      payIntent: encodePayIntent(payment),
      settleWithAuthorization: encodeSettleWithAuthorization(payment, authorization, vector.signature as Hex),
    },
  };
}
