// Disputes for operators: their list, the whole file of one, and its award (DSP-16).
import * as z from "zod";
import { type FieldError, fieldError } from "../core/errors.ts";
import { VERDICTS } from "../core/vocabulary.ts";
import { transactionView } from "../facilitation/schema.ts";
import { amount, amountInput, environment, fraction, instant, jws, pageQuery, text } from "../http/schemas.ts";
import { intentView } from "../payments/schema.ts";
import { taskView } from "../tasks/schema.ts";
import { disputeFile, disputeStatus, refundStatus, WORDS_MAX } from "./schema.ts";

export const operatorDisputeQuery = z.strictObject({
  ...pageQuery,
  status: disputeStatus.optional(),
  platform_id: z.string().min(1).max(100).optional(),
  environment: environment.optional(),
});
export type OperatorDisputeQuery = z.infer<typeof operatorDisputeQuery>;

export const verdictInput = z
  .strictObject({
    resolution: z.enum(VERDICTS).register(z.globalRegistry, { id: "Verdict" }),
    refund_amount: amountInput.nullable().optional(),
    reason: text(WORDS_MAX),
  })
  .register(z.globalRegistry, { id: "VerdictInput" });
export type VerdictInput = z.infer<typeof verdictInput>;

/** A part needs its amount; nothing is given back of a dispute that is rejected. */
export function verdictFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const { resolution: given, refund_amount: refund } = raw as VerdictInput;
  const absent = refund === undefined || refund === null;
  if (given === "partially_upheld" && absent) return [fieldError("refund_amount", "required")];
  if (given !== "rejected" || absent || Number(refund) === 0) return [];
  return [fieldError("refund_amount", "invalid_value", "Nothing is given back of a dispute that is rejected.")];
}

export const payoutInput = z
  .strictObject({ reason: text(WORDS_MAX) })
  .register(z.globalRegistry, { id: "PayoutInput" });
export type PayoutInput = z.infer<typeof payoutInput>;

/** What became of the request to pay a cancelled award again. */
export const payoutView = z
  .object({
    dispute_id: z.string(),
    payout: z.enum(["begun", "waits_for_second_operator"]),
    amount,
    currency: z.string(),
    requested_by: z.string(),
    confirmed_by: z.string().nullable(),
    refund_status: refundStatus,
  })
  .register(z.globalRegistry, { id: "RepeatedPayout" });
export type PayoutView = z.infer<typeof payoutView>;
const walletView = z
  .object({ address: z.string(), of_provider: z.boolean(), of_provider_since: instant.nullable() })
  .register(z.globalRegistry, { id: "PartyWallet" });

export const disputeCase = z
  .object({
    ...disputeFile.shape,
    transaction: transactionView,
    receipt: jws.nullable(),
    intent: intentView,
    task: taskView,
    payer: walletView,
    refund_to: walletView,
    ratings: z
      .object({ provider: fraction.nullable(), consumer: fraction.nullable() })
      .register(z.globalRegistry, { id: "PartyRatings" }),
  })
  .register(z.globalRegistry, { id: "DisputeCase" });
export type DisputeCase = z.infer<typeof disputeCase>;
