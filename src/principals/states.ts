// The principal's machine as data (PRN-15). standing.ts computes the status that counts at an instant.
import { defineMachine } from "../core/machine.ts";
import { PRINCIPAL_STATUSES, type PrincipalStatus } from "../core/vocabulary.ts";

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
