// The review of an account on the wire (ACC-21, ACC-24).
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { DECISION_SUBJECTS, VERIFICATION_DECISIONS } from "../core/vocabulary.ts";
import { buildTextSchema, instantInput, tier } from "../http/schemas.ts";

export const decision = z.enum(VERIFICATION_DECISIONS).register(z.globalRegistry, { id: "VerificationDecision" });

export const decisionInput = z
  .strictObject({
    subject: z.enum(DECISION_SUBJECTS).default("verification"),
    decision,
    accreditation_tier: tier.optional(),
    reason: buildTextSchema(2_000).optional(),
    proposed_at: instantInput.optional(),
  })
  .register(z.globalRegistry, { id: "DecisionInput" });
export type DecisionInput = z.infer<typeof decisionInput>;

/** Finds faults between the members of a decision. */
export function findDecisionFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const isRejection = "decision" in raw && raw.decision === "reject";
  const ofProfile = "subject" in raw && raw.subject === "profile";
  const takesNoTier = isRejection || ofProfile;
  return [
    ...(isRejection && !("reason" in raw) ? [toFieldError("reason", "required", "A rejection needs a reason.")] : []),
    ...(takesNoTier && "accreditation_tier" in raw
      ? [toFieldError("accreditation_tier", "invalid_field", "Only an approval of the verification can have a tier.")]
      : []),
    ...(!ofProfile && "proposed_at" in raw
      ? [toFieldError("proposed_at", "invalid_field", "Only a decision on a proposed profile can have this instant.")]
      : []),
  ];
}

export const renewalInput = z
  .strictObject({ expires_at: instantInput.optional() })
  .register(z.globalRegistry, { id: "AttestationRenewal" });
export type RenewalInput = z.infer<typeof renewalInput>;
