// Attestations in a request body: how they expand to columns, and their faults (PRN-6 to PRN-8). Pure.
import { addMonths } from "../core/clock.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { ATTESTATION_MAX_AGE_MONTHS } from "../core/limits.ts";
import type { Environment } from "../core/vocabulary.ts";
import type { AttestationRow, PrincipalRow, VerifierRow } from "../db/tables/principals.ts";
import type { AttestationInput, ProposedAttestation } from "./schema.ts";

export type AttestationColumns = Pick<
  PrincipalRow,
  | "attestationId"
  | "attestationVerifierId"
  | "attestationModel"
  | "attestationTier"
  | "attestationSigned"
  | "attestationIssuedAt"
  | "attestationExpiresAt"
>;

/**
 * Expands a placeholder of the sandbox to a full record (PRN-8). `verifier`: the registered Verifier that the attestation names, whose keys have
 * already verified a proof.
 */
export function expandAttestation(
  input: AttestationInput,
  environment: Environment,
  now: number,
  verifier: VerifierRow | null = null,
): AttestationColumns {
  if ("placeholder" in input) {
    return {
      attestationId: createId("att", now),
      attestationVerifierId: `${environment}-placeholder`,
      attestationModel: "kyb",
      attestationTier: input.tier ?? "TIER_3",
      attestationSigned: false,
      attestationIssuedAt: now,
      attestationExpiresAt: addMonths(now, ATTESTATION_MAX_AGE_MONTHS),
    };
  }
  return {
    attestationId: input.attestation_id,
    attestationVerifierId: input.verifier_id,
    attestationModel: input.model,
    attestationTier: input.tier ?? null,
    attestationSigned: verifier !== null && input.proof !== undefined,
    attestationIssuedAt: input.issued_at,
    attestationExpiresAt: input.expires_at,
  };
}

export const pickProof = (given: AttestationInput): string | null => ("proof" in given ? (given.proof ?? null) : null);

/** `at`: the path of the attestation in the body, with a dot at its end. */
export function findAttestationFaults(
  input: ProposedAttestation,
  environment: Environment,
  now: number,
  at = "verification_attestation.",
): FieldError[] {
  const fault = (field: string, message: string) => toFieldError(`${at}${field}`, "invalid_value", message);
  if ("placeholder" in input) {
    return environment === "sandbox" ? [] : [fault("placeholder", "A placeholder is accepted in the sandbox only.")];
  }
  const { issued_at: issuedAt, expires_at: expiresAt } = input;
  const faults: FieldError[] = [];
  if (issuedAt !== undefined && issuedAt > now) faults.push(fault("issued_at", "Must not be in the future."));
  if (expiresAt !== undefined && expiresAt <= now) faults.push(fault("expires_at", "The attestation has expired."));
  if (issuedAt !== undefined && expiresAt !== undefined && expiresAt <= issuedAt)
    faults.push(fault("expires_at", "Must be later than issued_at."));
  if (issuedAt !== undefined && addMonths(issuedAt, ATTESTATION_MAX_AGE_MONTHS) <= now)
    faults.push(fault("issued_at", "The attestation is older than twelve months."));
  return faults;
}

/** The row of a principal's current attestation. Earlier ones keep their own rows. */
export const toAttestationRow = (
  row: PrincipalRow,
  { proof, recordedAt }: Pick<AttestationRow, "proof" | "recordedAt">,
): AttestationRow => ({
  attestationId: row.attestationId,
  principalId: row.principalId,
  verifierId: row.attestationVerifierId,
  model: row.attestationModel,
  tier: row.attestationTier,
  proof,
  signed: row.attestationSigned,
  issuedAt: row.attestationIssuedAt,
  expiresAt: row.attestationExpiresAt,
  recordedAt,
  revokedAt: null,
  revocationReason: null,
});
