// Responses about payment intents.
import * as z from "zod";
import { buildListSchema, detailSchema } from "../http/response-parts.ts";
import { amount, did, instant } from "../http/schemas.ts";
import { ORDER_CHECKS } from "./eligibility.ts";
import { intentStatus } from "./schema.ts";

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

export const intentList = buildListSchema(intentView).register(z.globalRegistry, { id: "PaymentIntentList" });

export const addressView = z
  .object({ ...addressFields, intent_id: z.string().optional(), expires_at: instant.optional() })
  .register(z.globalRegistry, { id: "PaymentAddress" });

export type AddressView = z.infer<typeof addressView>;
