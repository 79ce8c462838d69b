// Responses about a facilitation, and the transaction that it makes.
import * as z from "zod";
import { jws } from "../http/response-parts.ts";
import { amount, did, environment, escrowState, instant } from "../http/schemas.ts";
import { transactionStatus } from "./schema.ts";

const settlementFields = {
  facilitation_id: z.string(),
  transaction_id: z.string(),
  intent_id: z.string(),
  task_id: z.string().nullable(),
  gross_amt: amount,
  fee_amt: amount,
  escrow_credited: amount,
  operational_amt: amount,
  currency: z.string(),
  escrow_state: escrowState,
  escrow_balance: amount,
  confirm_by: instant.nullable(),
  dispute_window_days: z.number().int(),
  dispute_window_closes_at: instant.nullable(),
  provider_aid_version: z.number().int(),
  tx_hash: z.string(),
  network: z.string(),
  caip2: z.string(),
};

export const facilitationView = z
  .object({
    ...settlementFields,
    status: z.literal("settled"),
    as_of_block: z.number().int().nullable(),
    receipt: jws,
  })
  .register(z.globalRegistry, { id: "Facilitation" });
export type FacilitationView = z.infer<typeof facilitationView>;

export const facilitationStatusView = z
  .object({
    facilitation_id: z.string(),
    status: transactionStatus,
    reversed_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "FacilitationStanding" });
export type FacilitationStatusView = z.infer<typeof facilitationStatusView>;

export const transactionView = z
  .object({
    ...settlementFields,
    environment: environment,
    consumer_did: did,
    provider_did: did,
    status: transactionStatus,
    settled_at: instant,
    reversed_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "Transaction" });
export type TransactionView = z.infer<typeof transactionView>;
