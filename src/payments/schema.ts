// Payment intents on the wire (PAY-2).
import * as z from "zod";
import { isAddress } from "../chain/hashes.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { INTENT_STATUSES } from "../core/vocabulary.ts";
import {
  amountInput,
  currencyInput,
  DID_SCHEMA_PATTERN,
  didInput,
  networkInput,
  pageQuery,
  side,
} from "../http/schemas.ts";
import { walletInput } from "../markets/schema.ts";

export const intentInput = z
  .strictObject({
    consumer_did: didInput,
    provider_did: didInput,
    amount: amountInput,
    currency: currencyInput,
    network: networkInput.optional(),
    payer: walletInput.optional(),
  })
  .register(z.globalRegistry, { id: "PaymentIntentInput" });

export type IntentInput = z.infer<typeof intentInput>;

/** A mixed-case address carries a checksum. */
export function findPayerFaults(raw: unknown): FieldError[] {
  const { data } = z.object({ payer: walletInput }).safeParse(raw);
  if (data === undefined || isAddress(data.payer)) return [];
  return [toFieldError("payer", "invalid_value", "The address's checksum (EIP-55) is wrong: a character is mistyped.")];
}

export const evaluationInput = z
  .strictObject({
    provider_did: didInput,
    amount: amountInput,
    currency: currencyInput,
    network: networkInput.optional(),
  })
  .register(z.globalRegistry, { id: "SpendPolicyEvaluationInput" });
export type EvaluationInput = z.infer<typeof evaluationInput>;

export const intentStatus = z.enum(INTENT_STATUSES).register(z.globalRegistry, { id: "PaymentIntentState" });

export const intentParams = z.object({ intent_id: z.string() });

export const intentQuery = z.strictObject({
  ...pageQuery,
  status: intentStatus.optional(),
  role: side.optional(),
});
export type IntentQuery = z.infer<typeof intentQuery>;

/** Loose, because faults of an order are answered as a 403, at which AEA/P clients stop (PAY-19). */
const order = z.string().max(200);
const orderedDid = order.clone().register(z.globalRegistry, { id: "OrderedDid", pattern: DID_SCHEMA_PATTERN });
export const addressQuery = z.strictObject({
  market: z.string().min(1).max(100),
  network: networkInput,
  consumer_did: orderedDid.optional(),
  provider_did: orderedDid.optional(),
  amount: order.optional(),
  payer: walletInput.optional(),
});

export type AddressQuery = z.infer<typeof addressQuery>;
