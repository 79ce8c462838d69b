// Specification 2.6 on the wire: facilitation in its two forms, and the transaction record that it makes.
import { z } from "@hono/zod-openapi";
import { type FieldError, fieldError } from "../core/errors.ts";
import { didParam, instant } from "../http/schemas.ts";

const txHash = z
  .string()
  .regex(/^(0x)?[0-9a-fA-F]{64}$/, "It is a transaction hash: 64 hex digits, 0x or not.")
  .openapi({ description: "64 hexadecimal digits, with or without 0x.", example: `0x${"4f".repeat(32)}` });

/**
 * One strict body for both forms: the intent by name (`intent_id`, `payment_tx`), or the payment alone (`provider_did`,
 * `consumer_did`, `tx_hash`, `network`), which finds its intent. A member of the other form is checked, never ignored.
 */
export const facilitationInput = z
  .strictObject({
    intent_id: z.string().min(1).max(100).optional(),
    payment_tx: txHash.optional(),
    tx_hash: txHash.optional(),
    provider_did: didParam.max(100).optional(),
    consumer_did: didParam.max(100).optional(),
    network: z
      .string()
      .min(1)
      .max(60)
      .optional()
      .openapi({ description: "Its name or CAIP-2.", example: "base-sepolia" }),
  })
  .openapi("FacilitationInput", {
    description: "Either `intent_id` and `payment_tx`, or `provider_did`, `consumer_did`, `tx_hash` and `network`.",
    example: { intent_id: "pin_01JD3S2Q4N7W8X9Y0Z1A2B3C4D", payment_tx: `0x${"4f".repeat(32)}` },
  });

export type FacilitationInput = z.infer<typeof facilitationInput>;

const CLIENT_FIELDS = ["provider_did", "consumer_did", "network"] as const;

/** What the form that the caller uses is missing. */
export function facilitationFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const body = raw as Record<string, unknown>;
  const given = (name: string) => body[name] !== undefined;
  const named = given("intent_id") || !CLIENT_FIELDS.some(given);
  const required = named ? ["intent_id"] : CLIENT_FIELDS;
  const missing = required.filter((name) => !given(name)).map((name) => fieldError(name, "required"));
  const hash = named ? "payment_tx" : "tx_hash";
  if (!given("payment_tx") && !given("tx_hash")) missing.push(fieldError(hash, "required"));
  if (given("payment_tx") && given("tx_hash") && body["payment_tx"] !== body["tx_hash"]) {
    missing.push(fieldError("tx_hash", "invalid_value", "payment_tx and tx_hash name different transactions."));
  }
  return missing;
}

const facilitated = {
  facilitation_id: z.string(),
  transaction_id: z.string(),
  intent_id: z.string(),
  task_id: z
    .string()
    .nullable()
    .openapi({ description: "Null when both agents belong to one principal: no task, no rating." }),
  status: z.literal("settled"),
  gross_amt: z.string(),
  fee_amt: z.string(),
  escrow_credited: z.string(),
  operational_amt: z.string(),
  currency: z.string(),
  escrow_state: z.string().openapi({ description: "The provider's escrow on this network after the settlement." }),
  escrow_balance: z.string(),
  confirm_by: instant.nullable(),
  dispute_window_days: z.number().int(),
  dispute_window_closes_at: instant.nullable().openapi({ description: "Null: final sale." }),
  provider_aid_version: z.number().int(),
  tx_hash: z.string(),
  network: z.string(),
  caip2: z.string(),
  receipt: z.string().openapi({ description: "Compact JWS by the CA key over the settlement's facts." }),
};

export const facilitationView = z.object(facilitated).openapi("Facilitation");
export type FacilitationView = z.infer<typeof facilitationView>;

export const transactionView = z
  .object({
    ...facilitated,
    environment: z.enum(["sandbox", "production"]),
    consumer_did: z.string(),
    provider_did: z.string(),
    settled_at: instant,
  })
  .openapi("Transaction");
export type TransactionView = z.infer<typeof transactionView>;
