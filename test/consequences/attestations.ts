// Attestations of principals: the rows of the table of consequences (table.ts).
import type { Cases } from "./words.ts";

const RECORDED = ["attestations", "principals"] as const;

export const ATTESTATION_OPERATIONS: Readonly<Record<string, Cases>> = {
  recordAttestation: [
    {
      when: "before the last one ends, with a running agent",
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
      when: "after an end that no job has recorded, with a running agent",
      // Before and after the batch, which records the end and what follows it.
      states: ["agent ACTIVE → SUSPENDED"],
      tables: ["agents", ...RECORDED],
      activity: ["agent.suspended", "principal.attestation_expired", "principal.attestation_recorded"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed", "principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: { agent: ["new revision"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "after the end, and its agents return",
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
      when: "it backs a principal with a running agent, by its Verifier",
      states: ["principal ACTIVE → ATTESTATION_EXPIRED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "used_credentials", ...RECORDED],
      activity: ["agent.suspended", "principal.attestation_revoked"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "it backs a principal without agents, by an operator",
      states: ["principal ACTIVE → ATTESTATION_EXPIRED"],
      tables: ["operator_entries", ...RECORDED],
      activity: ["principal.attestation_revoked"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      when: "another attestation counts by then, by an operator",
      tables: ["attestations", "operator_entries"],
      activity: { none: "it stops nobody: the operators' own log alone" },
    },
  ],
};
