// The effective status of a principal and of its agents at an instant, whether or not a job has recorded it (PRN-12, AGT-19). Pure.
import { type AgentStatus, isRunning, type PrincipalStatus } from "../core/vocabulary.ts";

export type PrincipalStanding = { readonly status: PrincipalStatus; readonly attestationExpiresAt: number };

/** An attestation counts until the instant of its end. */
export function effectivePrincipalStatus(principal: PrincipalStanding, now: number): PrincipalStatus {
  const expired = principal.status === "ACTIVE" && principal.attestationExpiresAt <= now;
  return expired ? "ATTESTATION_EXPIRED" : principal.status;
}

/** An agent that runs is SUSPENDED as soon as its principal is not ACTIVE. */
export function effectiveAgentStatus(status: AgentStatus, principalStatus: PrincipalStatus): AgentStatus {
  return principalStatus !== "ACTIVE" && isRunning(status) ? "SUSPENDED" : status;
}
