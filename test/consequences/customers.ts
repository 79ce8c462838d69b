// The rows of customers in the table of consequences (table.ts).
import type { Cases } from "./words.ts";

export const CUSTOMER_OPERATIONS: Readonly<Record<string, Cases>> = {
  createCustomer: [
    {
      when: "always",
      states: ["customer none → ACTIVE"],
      tables: ["customers"],
      activity: ["customer.created"],
    },
  ],

  patchCustomer: [{ when: "always", tables: ["customers"], activity: ["customer.updated"] }],
  suspendCustomer: [
    {
      when: "its principals have active agents",
      states: ["customer ACTIVE → SUSPENDED", "principal ACTIVE → SUSPENDED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "customers", "principals"],
      activity: ["customer.suspended", "principal.suspended", "agent.suspended"],
      events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "its principals have active agents, after an end that no job has recorded",
      states: ["customer ACTIVE → SUSPENDED", "principal ACTIVE → SUSPENDED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "customers", "principals"],
      activity: ["customer.suspended", "principal.attestation_expired", "principal.suspended", "agent.suspended"],
      events: { principal: ["principal.status_changed", "principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      certificate: { agent: ["suspended"] },
    },
    {
      when: "its principals are suspended already",
      states: ["customer ACTIVE → SUSPENDED"],
      tables: ["customers", "principals"],
      activity: ["customer.suspended", "principal.suspended"],
    },
    {
      when: "it has no principals",
      states: ["customer ACTIVE → SUSPENDED"],
      tables: ["customers"],
      activity: ["customer.suspended"],
    },
  ],

  reactivateCustomer: [
    {
      when: "its principals are suspended for no other reason",
      states: ["customer SUSPENDED → ACTIVE", "principal SUSPENDED → ACTIVE"],
      tables: ["customers", "principals"],
      activity: ["customer.reactivated", "principal.reactivated"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      when: "agents of its principals are reactivated with it",
      states: ["customer SUSPENDED → ACTIVE", "principal SUSPENDED → ACTIVE", "agent SUSPENDED → ACTIVE"],
      tables: ["agents", "customers", "principals"],
      activity: ["agent.reactivated", "customer.reactivated", "principal.reactivated"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: {},
      certificate: { agent: ["reinstated"] },
    },
    {
      when: "their attestations have ended meanwhile",
      states: ["customer SUSPENDED → ACTIVE", "principal SUSPENDED → ATTESTATION_EXPIRED"],
      tables: ["customers", "principals"],
      activity: ["customer.reactivated", "principal.reactivated"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      when: "the platform has suspended its principals too",
      states: ["customer SUSPENDED → ACTIVE"],
      tables: ["customers", "principals"],
      activity: ["customer.reactivated", "principal.reactivated"],
    },
  ],

  deleteCustomer: [
    {
      when: "it has no principals",
      states: ["customer ACTIVE → none"],
      tables: ["customers"],
      activity: ["customer.deleted"],
    },
    {
      when: "it is SUSPENDED and has no principals",
      states: ["customer SUSPENDED → none"],
      tables: ["customers"],
      activity: ["customer.deleted"],
    },
  ],
};
