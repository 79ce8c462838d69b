// Maps rows to the principal of schema.ts at an instant.
import { toIso } from "../core/clock.ts";
import type { AccountStop, PrincipalStatus } from "../core/vocabulary.ts";
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
    status_reason: reasonOf(row, status),
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

/** What the stop of an account says of its principals. */
export const ACCOUNT_REASONS: Readonly<Record<AccountStop, string>> = {
  SUSPENDED: "operator",
  CLOSED: "account_closed",
};

function reasonOf({ status, statusReason, accountStopped }: ListedPrincipal, shown: PrincipalStatus): string | null {
  // A state that is stored has its own reason; another one comes from the account, or from the date.
  if (shown !== status && accountStopped !== null && shown === accountStopped) return ACCOUNT_REASONS[accountStopped];
  return statusReason ?? (shown === "ATTESTATION_EXPIRED" ? "attestation_expired" : null);
}
