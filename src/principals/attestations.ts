// Attestations of a body: expansion and faults (PRN-6 to PRN-8). Pure.
import { addMonths } from "../core/clock.ts";
import { type FieldError, fieldError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { ATTESTATION_MAX_AGE_MONTHS } from "../core/limits.ts";
import type { Environment } from "../core/vocabulary.ts";
import type { AttestationRow, PrincipalRow, VerifierRow } from "../db/tables/principals.ts";
import type { AttestationInput, ProposedAttestation } from "./schema.ts";

/** The columns of a principal that hold its present attestation. */
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
 * In the sandbox a placeholder expands to a full record (PRN-8). `verifier`: the registered one that it names, with whose keys a proof was
 * verified before.
 */
export function expandAttestation(
  input: AttestationInput,
  environment: Environment,
  now: number,
  verifier: VerifierRow | null = null,
): AttestationColumns {
  if ("placeholder" in input) {
    return {
      attestationId: newId("att", now),
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

export const proofOf = (given: AttestationInput): string | null => ("proof" in given ? (given.proof ?? null) : null);

/** `at`: where the attestation stands in the body, with a dot behind it. */
export function attestationFaults(
  input: ProposedAttestation,
  environment: Environment,
  now: number,
  at = "verification_attestation.",
): FieldError[] {
  const fault = (field: string, message: string) => fieldError(`${at}${field}`, "invalid_value", message);
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

/** The current attestation of a principal, as it is recorded beside those before and to come. */
export const currentAttestation = (
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
