// Payment intents on the wire (PAY-2).
import * as z from "zod";
import { isAddress } from "../chain/hashes.ts";
import { type FieldError, fieldError } from "../core/errors.ts";
import { INTENT_STATUSES } from "../core/vocabulary.ts";
import {
  amount,
  amountInput,
  currencyInput,
  DID_PATTERN,
  detailSchema,
  did,
  didInput,
  instant,
  listOf,
  networkInput,
  pageQuery,
  side,
} from "../http/schemas.ts";
import { address } from "../markets/agent-schema.ts";
import { ORDER_CHECKS } from "./eligibility.ts";

export const intentInput = z
  .strictObject({
    consumer_did: didInput,
    provider_did: didInput,
    amount: amountInput,
    currency: currencyInput,
    network: networkInput.optional(),
    payer: address.optional(),
  })
  .register(z.globalRegistry, { id: "PaymentIntentInput" });

export type IntentInput = z.infer<typeof intentInput>;

/** Mixed case is a checksum. */
export function payerFaults(raw: unknown): FieldError[] {
  const { data } = z.object({ payer: address }).safeParse(raw);
  if (data === undefined || isAddress(data.payer)) return [];
  return [fieldError("payer", "invalid_value", "Its checksum (EIP-55) is wrong: a character is mistyped.")];
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

const orderCheck = z
  .object({
    check: z.enum(ORDER_CHECKS),
    passed: z.boolean(),
    code: z.string().optional(),
    detail: detailSchema.optional(),
  })
  .register(z.globalRegistry, { id: "OrderCheck" });
export type OrderCheckView = z.infer<typeof orderCheck>;

export const evaluationView = z
  .object({
    did,
    provider_did: did,
    amount,
    currency: z.string(),
    network: z.string().nullable(),
    market: z.string().nullable(),
    allowed: z.boolean(),
    checks: z.array(orderCheck),
    remaining: amount.nullable(),
    window_resets_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "SpendPolicyEvaluation" });
export type EvaluationView = z.infer<typeof evaluationView>;

const hash = z.string().register(z.globalRegistry, { id: "Keccak256" });

/** The contract, token and network of a payment. */
const addressFields = {
  contract: z.string(),
  token: z.string(),
  chain_id: z.number().int(),
  currency: z.string(),
  decimals: z.number().int(),
  network: z.string(),
  caip2: z.string(),
};

const intentStatus = z.enum(INTENT_STATUSES).register(z.globalRegistry, { id: "PaymentIntentState" });

export const intentView = z
  .object({
    intent_id: z.string(),
    status: intentStatus,
    amount,
    amount_base_units: z.string(),
    ...addressFields,
    provider_did: did,
    consumer_did: did,
    operational_wallet: z.string(),
    provider_did_hash: hash,
    consumer_did_hash: hash,
    intent_hash: hash,
    settlement_key: hash,
    expires_at: instant,
    payment: z.object({ tx_hash: z.string(), mined_at: instant }).nullable(),
    hold_released: z.boolean(),
    cancelled_at: instant.nullable(),
    payer: z.string().nullable(),
    call: z
      .object({ to: z.string(), data: z.string(), value: z.string() })
      .register(z.globalRegistry, { id: "ContractCall" })
      .nullable(),
    task_id: z.string().nullable(),
    confirm_by: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "PaymentIntent" });

export type IntentView = z.infer<typeof intentView>;

export const intentParams = z.object({ intent_id: z.string() });

export const intentList = listOf(intentView).register(z.globalRegistry, { id: "PaymentIntentList" });

export const intentQuery = z.strictObject({
  ...pageQuery,
  status: intentStatus.optional(),
  role: side.optional(),
});
export type IntentQuery = z.infer<typeof intentQuery>;

/** Loose, because faults of an order are answered as a 403, at which AEA/P clients stop (PAY-19). */
const order = z.string().max(200);
const orderedDid = order.clone().register(z.globalRegistry, { id: "OrderedDid", pattern: DID_PATTERN });
export const addressQuery = z.strictObject({
  market: z.string().min(1).max(100),
  network: networkInput,
  consumer_did: orderedDid.optional(),
  provider_did: orderedDid.optional(),
  amount: order.optional(),
  payer: address.optional(),
});

export type AddressQuery = z.infer<typeof addressQuery>;

export const addressView = z
  .object({ ...addressFields, intent_id: z.string().optional(), expires_at: instant.optional() })
  .register(z.globalRegistry, { id: "PaymentAddress" });

export type AddressView = z.infer<typeof addressView>;
