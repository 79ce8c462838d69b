// Schemas of disputes (DSP-1 to DSP-9), and of the operators' calls about them (DSP-16, DSP-19).
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { isDecimal } from "../core/text.ts";
import { DISPUTE_REASONS, DISPUTE_STATUSES, REFUND_STATUSES, RESOLUTIONS, VERDICTS } from "../core/vocabulary.ts";
import {
  amount,
  amountInput,
  buildTextSchema,
  currencyInput,
  did,
  didInput,
  environment,
  httpUrl,
  idInput,
  instant,
  instantInput,
  pageQuery,
  side,
  wordsInput,
} from "../http/schemas.ts";
import { ACCEPTED_REASONS, toDisputeReason } from "./terms.ts";

export const disputeParams = z.object({ dispute_id: z.string() });

export const disputeStatus = z.enum(DISPUTE_STATUSES).register(z.globalRegistry, { id: "DisputeState" });
const disputeReason = z.enum(DISPUTE_REASONS).register(z.globalRegistry, { id: "DisputeReason" });
const resolution = z.enum(RESOLUTIONS).register(z.globalRegistry, { id: "Resolution" });
export const refundStatus = z.enum(REFUND_STATUSES).register(z.globalRegistry, { id: "RefundStatus" });

export const WORDS_MAX = 2_000;

/** The reasons, and those of AEA/P clients. An unknown reason has its own error code. */
const reasonInput = z.string().max(50).register(z.globalRegistry, { id: "DisputeReasonInput", enum: ACCEPTED_REASONS });

export const disputeInput = z
  .strictObject({
    facilitation_id: idInput.optional(),
    transaction_id: idInput.optional(),
    reason: reasonInput,
    description: wordsInput.optional(),
    resolution_sought: wordsInput.optional(),
    disputed_amount: z
      .string()
      .max(80)
      .register(z.globalRegistry, { id: "DisputedAmountInput", type: ["string", "number"] }),
    currency: currencyInput.optional(),
  })
  .register(z.globalRegistry, {
    id: "DisputeInput",
    anyOf: ["facilitation_id", "transaction_id"].map((name) => ({ required: [name] })),
  });
export type DisputeInput = z.infer<typeof disputeInput>;

/** Finds the faults that have their own codes, and those across fields. */
export function findDisputeFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const { facilitation_id: one, transaction_id: other, reason, disputed_amount: disputed } = raw as DisputeInput;
  const same = "facilitation_id and transaction_id name different transactions.";
  return [
    ...(one === undefined && other === undefined ? [toFieldError("transaction_id", "required")] : []),
    ...(one !== undefined && other !== undefined && one !== other
      ? [toFieldError("facilitation_id", "invalid_value", same)]
      : []),
    ...(typeof reason === "string" && toDisputeReason(reason) === null
      ? [toFieldError("reason", "invalid_reason")]
      : []),
    ...(typeof disputed === "string" && !isDecimal(disputed)
      ? [toFieldError("disputed_amount", "invalid_disputed_amount")]
      : []),
  ];
}

export const disputeView = z
  .object({
    dispute_id: z.string(),
    environment,
    status: disputeStatus,
    transaction_id: z.string(),
    facilitation_id: z.string(),
    task_id: z.string(),
    consumer_did: did,
    provider_did: did,
    network: z.string(),
    currency: z.string(),
    gross_amt: amount,
    reason: disputeReason,
    description: z.string().nullable(),
    resolution_sought: z.string().nullable(),
    disputed_amount: amount,
    bounty_amount: amount,
    offer_amount: amount.nullable(),
    pre_arb_deadline: instant,
    arbitration_due: instant.nullable(),
    resolution: resolution.nullable(),
    refund_amount: amount.nullable(),
    refund_status: refundStatus,
    refund_from: z.enum(["vault", "provider"]).register(z.globalRegistry, { id: "RefundSource" }).nullable(),
    refund_due: instant.nullable(),
    paid_from_vault: amount,
    refunded_before: amount,
    bounty_owed_by: side.nullable(),
    bounty_paid: amount,
    bounty_outstanding: amount,
    filed_at: instant,
    responded_at: instant.nullable(),
    escalated_at: instant.nullable(),
    resolved_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "Dispute" });
export type DisputeView = z.infer<typeof disputeView>;

export const disputeQuery = z.strictObject({
  ...pageQuery,
  did: didInput.optional(),
  role: side.optional(),
  status: disputeStatus.optional(),
  since: instantInput.optional(),
  until: instantInput.optional(),
});
export type DisputeQuery = z.infer<typeof disputeQuery>;

export const responseInput = z
  .strictObject({ message: buildTextSchema(WORDS_MAX), offer_amount: amountInput.nullable().optional() })
  .register(z.globalRegistry, { id: "DisputeResponse" });
export type ResponseInput = z.infer<typeof responseInput>;

export const evidenceInput = z
  .strictObject({
    description: buildTextSchema(WORDS_MAX),
    uri: httpUrl.nullable().optional(),
    sha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, "Must be 64 hexadecimal digits.")
      .nullable()
      .optional(),
    media_type: z
      .string()
      .max(127)
      .regex(/^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i, "Must be a media type, such as image/png.")
      .nullable()
      .optional(),
    submitted_by: side.optional(),
  })
  .register(z.globalRegistry, { id: "DisputeEvidenceInput" });
export type EvidenceInput = z.infer<typeof evidenceInput>;

// ---- For operators ---------------------------------------------------------------------------------------------------------

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
    reason: buildTextSchema(WORDS_MAX),
  })
  .register(z.globalRegistry, { id: "VerdictInput" });
export type VerdictInput = z.infer<typeof verdictInput>;

/** A partial award needs an amount, and a rejection allows none. */
export function findVerdictFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const { resolution: given, refund_amount: refund } = raw as VerdictInput;
  const absent = refund === undefined || refund === null;
  if (given === "partially_upheld" && absent) return [toFieldError("refund_amount", "required")];
  if (given !== "rejected" || absent || Number(refund) === 0) return [];
  return [toFieldError("refund_amount", "invalid_value", "Must be absent or zero when the dispute is rejected.")];
}

export const payoutInput = z
  .strictObject({ reason: buildTextSchema(WORDS_MAX) })
  .register(z.globalRegistry, { id: "PayoutInput" });
export type PayoutInput = z.infer<typeof payoutInput>;
