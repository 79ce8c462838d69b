// The state machine of principals as data (PRN-15). effective-status.ts computes the effective status.
import { defineMachine } from "../core/machine.ts";
import { PRINCIPAL_STATUSES, type PrincipalStatus } from "../core/vocabulary.ts";

/** The trigger of a reactivation depends on the stops that are left (PRN-19). */
export const PRINCIPAL_TRIGGERS = [
  "attestation_ends",
  "attest",
  "suspend",
  "reactivate",
  "reactivate_expired",
  "reactivate_held",
  "close",
] as const;
export type PrincipalTrigger = (typeof PRINCIPAL_TRIGGERS)[number];

export const principalMachine = defineMachine<PrincipalStatus, PrincipalTrigger>({
  name: "principal",
  states: PRINCIPAL_STATUSES,
  triggers: PRINCIPAL_TRIGGERS,
  table: {
    ACTIVE: { attestation_ends: "ATTESTATION_EXPIRED", attest: "ACTIVE", suspend: "SUSPENDED", close: "CLOSED" },
    ATTESTATION_EXPIRED: { attest: "ACTIVE", suspend: "SUSPENDED", close: "CLOSED" },
    SUSPENDED: {
      attestation_ends: "SUSPENDED",
      attest: "SUSPENDED",
      // If its customer has stopped it.
      suspend: "SUSPENDED",
      reactivate: "ACTIVE",
      reactivate_expired: "ATTESTATION_EXPIRED",
      reactivate_held: "SUSPENDED",
      close: "CLOSED",
    },
    CLOSED: {},
  },
});
