// Schemas of the operators' list of disputes, of a verdict, and of a repeated payout (DSP-16, DSP-19).
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { VERDICTS } from "../core/vocabulary.ts";

import { amountInput, buildTextSchema, environment, pageQuery } from "../http/schemas.ts";

import { disputeStatus, WORDS_MAX } from "./schema.ts";

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
