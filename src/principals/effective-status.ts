// The effective status of a principal and of its agents at an instant, whether or not a job has recorded it (PRN-12, AGT-19, ACC-25). Pure.
import {
  type AccountStop,
  type AgentStatus,
  type AttestationStop,
  isActiveOrFunding,
  isFinal,
  type PrincipalStatus,
  type SuspensionReason,
} from "../core/vocabulary.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";

export type StoredStatus = {
  readonly status: PrincipalStatus;
  readonly attestationExpiresAt: number;
  /** The stop of the principal's account, which stops every principal. */
  readonly accountStopped: AccountStop | null;
};

/** The stops of a principal (PRN-19), except its account's. */
export type Stops = Pick<PrincipalRow, "platformStopped" | "customerStopped" | "attestationStop">;
export const NO_STOPS: Stops = { platformStopped: false, customerStopped: false, attestationStop: null };

/** The stored status: ACTIVE if the principal has no stop. */
export function toStoredStatus({ platformStopped, customerStopped, attestationStop }: Stops): PrincipalStatus {
  if (platformStopped || customerStopped) return "SUSPENDED";
  return attestationStop === null ? "ACTIVE" : "ATTESTATION_EXPIRED";
}

/** The attestation's stop at an instant, whether or not a job has recorded its end. */
export const toAttestationStop = (
  { attestationStop, attestationExpiresAt }: Pick<PrincipalRow, "attestationStop" | "attestationExpiresAt">,
  now: number,
): AttestationStop | null => attestationStop ?? (attestationExpiresAt <= now ? "attestation_expired" : null);

/** If several stops hold, CLOSED is shown before SUSPENDED before ATTESTATION_EXPIRED. An attestation counts until the instant of its end. */
export function toEffectivePrincipalStatus(principal: StoredStatus, now: number): PrincipalStatus {
  const { status, attestationExpiresAt, accountStopped } = principal;
  if (status === "CLOSED" || accountStopped === "CLOSED") return "CLOSED";
  if (status === "SUSPENDED" || accountStopped === "SUSPENDED") return "SUSPENDED";
  return status === "ACTIVE" && attestationExpiresAt <= now ? "ATTESTATION_EXPIRED" : status;
}

/** An active agent is SUSPENDED as soon as its principal is not ACTIVE. Every agent is REVOKED as soon as its principal is CLOSED. */
export function toEffectiveAgentStatus(status: AgentStatus, principalStatus: PrincipalStatus): AgentStatus {
  if (isFinal(status)) return status;
  if (principalStatus === "CLOSED") return "REVOKED";
  return principalStatus !== "ACTIVE" && isActiveOrFunding(status) ? "SUSPENDED" : status;
}

export function toStopReason(principal: StoredStatus, now: number): SuspensionReason {
  if (principal.accountStopped !== null) return "operator";
  return toEffectivePrincipalStatus(principal, now) === "ATTESTATION_EXPIRED" ? "attestation" : "principal";
}
