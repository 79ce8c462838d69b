// Attestations in a request body: how they expand to columns, their faults (PRN-6 to PRN-8), and those of the Verifier and its proof (PRN-9, PRN-22).
// Also the tiers of a principal: the one that its attestation states, and the one that its agents' roles need (PRN-10).
import type { Config } from "../context.ts";
import { addMonths } from "../core/clock.ts";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { ATTESTATION_MAX_AGE_MONTHS } from "../core/limits.ts";
import { toLowestTier } from "../core/roles.ts";
import { type AttestationModel, type EconomicRole, type Environment, rankTier, type Tier } from "../core/vocabulary.ts";
import { type Database, dropAbsentReads } from "../db/batch.ts";
import type { AttestationRow, PrincipalRow, VerifierRow } from "../db/tables/principals.ts";
import { findVerifier } from "../verifiers/store.ts";
import { findProofFault } from "../verifiers/verifiers.ts";
import type { AttestationInput, ProposedAttestation } from "./schema.ts";
import { type AttestationKey, isRevoked } from "./store.ts";

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

// ---- The Verifier and its proof -----------------------------------------------------------------------------------------

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

type Person = {
  readonly legal_name?: string | undefined;
  readonly country?: string | undefined;
  readonly external_ref?: string | undefined;
};

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

// ---- Tiers --------------------------------------------------------------------------------------------------------------

/** For an attestation that states no tier. */
const MODEL_TIERS: Readonly<Record<AttestationModel, Tier>> = { kyc: "TIER_1", kyb: "TIER_2" };

type Attested = Pick<PrincipalRow, "attestationTier" | "attestationModel">;

export const toAttestedTier = ({ attestationTier, attestationModel }: Attested): Tier =>
  attestationTier ?? MODEL_TIERS[attestationModel];

/** The highest tier that the agents need. Any of them may buy, and only sellers need more. */
export const computeRequiredTier = (providers: number): Tier => toLowestTier(providers > 0 ? "PROVIDER" : "CONSUMER");

export type TierWarning = {
  readonly code: "attestation_tier_below_role";
  readonly message: string;
  readonly attested_tier: Tier;
  readonly required_tier: Tier;
};

/** Warns if the role needs a higher tier than the attested one. The tier is the platform's duty, so the call succeeds. */
export function findTierWarnings(role: EconomicRole, principal: Attested): TierWarning[] {
  const [attested, required] = [toAttestedTier(principal), toLowestTier(role)];
  if (rankTier(attested) >= rankTier(required)) return [];
  const message = `The principal is attested at ${attested}, but a ${role} needs ${required}: the agent must not transact until that tier is attested.`;
  return [{ code: "attestation_tier_below_role", message, attested_tier: attested, required_tier: required }];
}
