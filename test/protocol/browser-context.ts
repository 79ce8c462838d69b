// Runs the payer's half as in a browser (browser-modules.ts), and prints its results for the published vectors.
import { loadProtocol, textAt } from "./browser-modules.ts";

const { preparePayment, authorize, computeAuthorizationNonce, encodeSettleWithAuthorization, drawSalt } =
  await loadProtocol<typeof import("../../src/protocol/payment.ts")>("payment.ts");
const { payments } = JSON.parse(textAt(import.meta.resolve("./payment-vectors.json")));
const made = payments.map(({ intent, terms, authorization, signature }: (typeof payments)[number]) => {
  const prepared = preparePayment(intent, terms);
  const times = { validAfter: BigInt(authorization.validAfter), validBefore: BigInt(authorization.validBefore) };
  const authorized = authorize(prepared, { ...authorization, ...times });
  return {
    settlement_key: prepared.settlementKey,
    nonce: computeAuthorizationNonce(prepared.payment, authorized.salt),
    typed_data: authorized.typedData,
    settleWithAuthorization: encodeSettleWithAuthorization(prepared.payment, authorized, signature),
    salt: drawSalt().length,
  };
});
console.log(JSON.stringify(made));
