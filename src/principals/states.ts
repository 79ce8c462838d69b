// Specification 3.2: the principal's machine, as data. What counts at an instant is computed in standing.ts.
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
