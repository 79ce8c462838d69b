// Maps rows to the principal of schema.ts at an instant.
import { toIso } from "../core/clock.ts";
import type { PrincipalView } from "./schema.ts";
import { effectivePrincipalStatus } from "./standing.ts";
import type { ListedPrincipal } from "./store.ts";

export function toPrincipalView(row: ListedPrincipal, now: number): PrincipalView {
  const status = effectivePrincipalStatus(row, now);
  return {
    principal_id: row.principalId,
    legal_name: row.legalName,
    country: row.country,
    entity_type: row.entityType,
    external_ref: row.externalRef,
    customer_id: row.customerId,
    environment: row.environment,
    status,
    status_reason: row.statusReason ?? (status === "ATTESTATION_EXPIRED" ? "attestation_expired" : null),
    verification_attestation: {
      attestation_id: row.attestationId,
      verifier_id: row.attestationVerifierId,
      model: row.attestationModel,
      issued_at: toIso(row.attestationIssuedAt),
      expires_at: toIso(row.attestationExpiresAt),
      ...(row.attestationTier !== null && { tier: row.attestationTier }),
    },
    created_at: toIso(row.createdAt),
    updated_at: toIso(row.updatedAt),
  };
}
