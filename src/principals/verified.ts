// Checks whether the Verifier that an attestation names may attest, and whether its proof verifies (PRN-9, PRN-22).
import type { Config } from "../context.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Database, dropAbsentReads } from "../db/batch.ts";
import type { VerifierRow } from "../db/tables/principals.ts";
import { findProofFault } from "../verifiers/proof.ts";
import { findVerifier } from "../verifiers/store.ts";
import type { ProposedAttestation } from "./schema.ts";
import { type AttestationKey, isRevoked } from "./store.ts";

/** The person of an attestation, as far as the body is valid. */
type Person = {
  readonly legal_name?: string | undefined;
  readonly country?: string | undefined;
  readonly external_ref?: string | undefined;
};

/** Reads the Verifier that an attestation names, and whether the attestation was revoked. */
export function buildAttestationReads(db: Database, attestation: ProposedAttestation | undefined) {
  const verifierId = attestation && "verifier_id" in attestation ? attestation.verifier_id : undefined;
  const named = toAttestationKey(attestation);
  return dropAbsentReads({
    verifier: verifierId === undefined ? null : findVerifier(db, verifierId),
    revoked: named && isRevoked(db, named),
  });
}

/** Returns null for a placeholder, and if the body does not identify an attestation. */
export function toAttestationKey(attestation: ProposedAttestation | undefined): AttestationKey | null {
  if (attestation === undefined || "placeholder" in attestation) return null;
  const { verifier_id: verifierId, attestation_id: attestationId } = attestation;
  return verifierId === undefined || attestationId === undefined ? null : { verifierId, attestationId };
}

export type VerifierFacts = {
  readonly verifier?: VerifierRow | null | undefined;
  readonly revoked?: boolean | undefined;
};

/** The call that brings the attestation. */
type AttestingCall = {
  readonly environment: Environment;
  readonly now: number;
  readonly deps: { readonly config: Config };
};

/** `at`: the path of the attestation in the body, with a dot at its end. */
export async function findVerifierFaults(
  attestation: ProposedAttestation | undefined,
  person: Person,
  judging: VerifierFacts,
  call: AttestingCall,
  at = "verification_attestation.",
): Promise<FieldError[]> {
  if (attestation === undefined || "placeholder" in attestation) return [];
  const isRequired = call.environment === "production" && call.deps.config.attestationProof === "required";
  const lacking =
    isRequired && attestation.proof === undefined
      ? [toFieldError(`${at}proof`, "required", "In production an attestation needs its Verifier's proof.")]
      : [];
  return [...lacking, ...(await findNamedVerifierFaults(attestation, person, judging, call, at))];
}

async function findNamedVerifierFaults(
  attestation: Exclude<ProposedAttestation, { placeholder: true }>,
  person: Person,
  { verifier, revoked = false }: VerifierFacts,
  { environment, now }: AttestingCall,
  at: string,
): Promise<FieldError[]> {
  if (attestation.verifier_id === undefined) return [];
  const takenBack = revoked
    ? [toFieldError(`${at}attestation_id`, "invalid_value", "The attestation was revoked.")]
    : [];
  if (!verifier) {
    // In the sandbox a Verifier is any text, and its proof is kept unchecked.
    if (environment === "sandbox") return takenBack;
    return [toFieldError(`${at}verifier_id`, "not_found", "No such Verifier is registered.")];
  }
  const { proof } = attestation;
  const stated = {
    legalName: person.legal_name,
    country: person.country,
    externalRef: person.external_ref,
    attestationId: attestation.attestation_id,
    model: attestation.model,
    tier: attestation.tier,
    issuedAt: attestation.issued_at,
    expiresAt: attestation.expires_at,
  };
  const unproven = proof === undefined ? null : await findProofFault(proof, verifier, stated, now);
  return [
    ...takenBack,
    ...(verifier.status === "enabled"
      ? []
      : [
          toFieldError(
            `${at}verifier_id`,
            "invalid_value",
            "The Verifier is disabled: its new attestations are not accepted.",
          ),
        ]),
    ...(unproven === null ? [] : [toFieldError(`${at}proof`, "invalid_value", unproven)]),
  ];
}
