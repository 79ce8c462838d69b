// The rows of principals' attestations in the table of consequences (table.ts).
import type { Cases } from "./words.ts";

const RECORDED = ["attestations", "principals"] as const;

export const ATTESTATION_OPERATIONS: Readonly<Record<string, Cases>> = {
  recordAttestation: [
    {
      when: "before the last one ends, with an active agent",
      tables: ["agents", ...RECORDED],
      activity: ["principal.attestation_recorded"],
      document: { agent: ["new revision"] },
    },
    {
      when: "after the end, with a suspended agent",
      states: ["principal ATTESTATION_EXPIRED → ACTIVE"],
      tables: ["agents", ...RECORDED],
      activity: ["principal.attestation_recorded"],
      events: { principal: ["principal.status_changed"] },
      document: { agent: ["new revision"] },
    },
    {
      when: "after an end that no job has recorded, with an active agent",
      // The state before and after the batch, which records the end and what follows from it.
      states: ["agent ACTIVE → SUSPENDED"],
      tables: ["agents", ...RECORDED],
      activity: ["agent.suspended", "principal.attestation_expired", "principal.attestation_recorded"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed", "principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: { agent: ["new revision"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "after the end, and its agents are reactivated",
      states: ["principal ATTESTATION_EXPIRED → ACTIVE", "agent SUSPENDED → ACTIVE"],
      tables: ["agents", ...RECORDED],
      activity: ["agent.reactivated", "principal.attestation_recorded"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: { agent: ["stale version"] },
      certificate: { agent: ["issued", "reinstated", "replaced"] },
    },
    {
      when: "SUSPENDED",
      tables: RECORDED,
      activity: ["principal.attestation_recorded"],
    },
  ],

  revokeAttestation: [
    {
      when: "by its Verifier, for a principal with an active agent",
      states: ["principal ACTIVE → ATTESTATION_EXPIRED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "used_credentials", ...RECORDED],
      activity: ["agent.suspended", "principal.attestation_revoked"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "by an operator, for a principal without agents",
      states: ["principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["operator_entries", ...RECORDED],
      activity: ["principal.attestation_revoked"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      when: "by an operator, after another attestation was recorded",
      tables: ["attestations", "operator_entries"],
      activity: { none: "it stops nobody: the operators' own log alone" },
    },
  ],
};
