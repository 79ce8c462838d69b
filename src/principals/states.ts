// Specification 3.2: the principal's machine, as data. What counts at an instant is computed in agents/states.ts.
import { defineMachine } from "../core/machine.ts";

export const PRINCIPAL_STATUSES = ["ACTIVE", "ATTESTATION_EXPIRED", "SUSPENDED", "CLOSED"] as const;
export type PrincipalStatus = (typeof PRINCIPAL_STATUSES)[number];

export const PRINCIPAL_TRIGGERS = ["attestation_ends", "attest", "suspend", "reactivate", "close"] as const;
export type PrincipalTrigger = (typeof PRINCIPAL_TRIGGERS)[number];

export const principalMachine = defineMachine<PrincipalStatus, PrincipalTrigger>({
  name: "principal",
  states: PRINCIPAL_STATUSES,
  triggers: PRINCIPAL_TRIGGERS,
  table: {
    ACTIVE: { attestation_ends: "ATTESTATION_EXPIRED", attest: "ACTIVE", suspend: "SUSPENDED", close: "CLOSED" },
    ATTESTATION_EXPIRED: { attest: "ACTIVE", suspend: "SUSPENDED", close: "CLOSED" },
    SUSPENDED: { reactivate: "ACTIVE", attest: "SUSPENDED", close: "CLOSED" },
    CLOSED: {},
  },
});

export type PrincipalStanding = { status: string; attestationExpiresAt: number };

/** 3.2, no grace: an attestation counts until its instant, whether or not the cron has recorded its end. */
export function effectivePrincipalStatus(principal: PrincipalStanding, now: number): PrincipalStatus {
  const expired = principal.status === "ACTIVE" && principal.attestationExpiresAt <= now;
  return expired ? "ATTESTATION_EXPIRED" : (principal.status as PrincipalStatus);
}
