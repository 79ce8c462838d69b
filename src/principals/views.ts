// Maps rows to the responses of schema.ts and responses.ts at an instant.
import { toIso } from "../core/clock.ts";
import type { AccountStop, PrincipalStatus } from "../core/vocabulary.ts";
import type { AttestationRow } from "../db/tables/principals.ts";
import { toEffectivePrincipalStatus } from "./effective-status.ts";
import type { ListedPrincipal } from "./list-store.ts";
import type { RecordedAttestationView } from "./responses.ts";
import type { PrincipalView } from "./schema.ts";
import { computeRequiredTier, toAttestedTier } from "./tiers.ts";

export function toPrincipalView(row: ListedPrincipal, now: number): PrincipalView {
  const status = toEffectivePrincipalStatus(row, now);
  return {
    principal_id: row.principalId,
    legal_name: row.legalName,
    country: row.country,
    entity_type: row.entityType,
    external_ref: row.externalRef,
    customer_id: row.customerId,
    environment: row.environment,
    status,
    status_reason: toStatusReason(row, status),
    status_note: row.statusNote,
    metadata: row.metadata,
    verification_attestation: {
      attestation_id: row.attestationId,
      verifier_id: row.attestationVerifierId,
      model: row.attestationModel,
      issued_at: toIso(row.attestationIssuedAt),
      expires_at: toIso(row.attestationExpiresAt),
      ...(row.attestationTier !== null && { tier: row.attestationTier }),
      signed: row.attestationSigned,
    },
    attested_tier: toAttestedTier(row),
    // A CLOSED principal has no agents left, whether or not their rows say so yet.
    required_tier: computeRequiredTier(status === "CLOSED" ? 0 : row.providers),
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}

/**
 * The principal as events show it, without its account's stop. No event reports the stop or the reinstatement of the account, so a change in between
 * would otherwise never be reported.
 */
export const toEventPrincipal = (row: ListedPrincipal, now: number): PrincipalView =>
  toPrincipalView({ ...row, accountStopped: null }, now);

export function toRecordedView(row: AttestationRow, principal: ListedPrincipal, now: number): RecordedAttestationView {
  return {
    attestation_id: row.attestationId,
    verifier_id: row.verifierId,
    model: row.model,
    issued_at: toIso(row.issuedAt),
    expires_at: toIso(row.expiresAt),
    ...(row.tier !== null && { tier: row.tier }),
    signed: row.signed,
    principal_id: row.principalId,
    status: toAttestationStatus(row, principal, now),
    proof: row.proof,
    recorded_at: toIso(row.recordedAt),
    revoked_at: row.revokedAt === null ? null : toIso(row.revokedAt),
    revocation_reason: row.revocationReason,
  };
}

function toAttestationStatus(
  row: AttestationRow,
  principal: ListedPrincipal,
  now: number,
): RecordedAttestationView["status"] {
  if (row.revokedAt !== null) return "revoked";
  const isPresent = row.attestationId === principal.attestationId && row.verifierId === principal.attestationVerifierId;
  if (!isPresent) return "replaced";
  return row.expiresAt <= now ? "expired" : "current";
}

/** The reason that principals show for a stop of their account. */
export const ACCOUNT_REASONS: Readonly<Record<AccountStop, string>> = {
  SUSPENDED: "operator",
  CLOSED: "account_closed",
};

function toStatusReason(row: ListedPrincipal, shown: PrincipalStatus): string | null {
  const { status, statusReason, accountStopped, platformStopped, attestationStop } = row;
  if (shown === "ACTIVE") return null;
  if (shown === "CLOSED") return status === "CLOSED" ? statusReason : ACCOUNT_REASONS.CLOSED;
  if (shown === "SUSPENDED") {
    if (accountStopped !== null) return ACCOUNT_REASONS.SUSPENDED;
    return platformStopped ? "platform" : "customer";
  }
  return attestationStop ?? "attestation_expired";
}
