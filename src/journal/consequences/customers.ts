// Customers: the rows of the table of consequences (table.ts).
import { type Cases, NO_NOTICE, NONE, UNSEEN } from "./words.ts";

export const CUSTOMER_OPERATIONS: Readonly<Record<string, Cases>> = {
  createCustomer: [
    {
      when: "always",
      states: ["customer none → ACTIVE"],
      tables: ["customers"],
      activity: ["customer.created"],
      ...UNSEEN,
    },
  ],

  patchCustomer: [{ when: "always", states: [], tables: ["customers"], activity: ["customer.updated"], ...UNSEEN }],

  suspendCustomer: [
    {
      when: "agents of its principals run",
      states: ["customer ACTIVE → SUSPENDED", "principal ACTIVE → SUSPENDED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "customers", "principals"],
      activity: ["customer.suspended", "principal.suspended", "agent.suspended"],
      events: { principal: ["principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      certificate: { agent: ["suspended"] },
      ...NO_NOTICE,
    },
    {
      when: "agents of its principals run, after an end that no job has recorded",
      states: ["customer ACTIVE → SUSPENDED", "principal ACTIVE → SUSPENDED", "agent ACTIVE → SUSPENDED"],
      tables: ["agents", "customers", "principals"],
      activity: ["customer.suspended", "principal.attestation_expired", "principal.suspended", "agent.suspended"],
      events: { principal: ["principal.status_changed", "principal.status_changed"], agent: ["agent.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: NONE,
      certificate: { agent: ["suspended"] },
      ...NO_NOTICE,
    },
    {
      ...UNSEEN,
      when: "something else has stopped its principals already",
      states: ["customer ACTIVE → SUSPENDED"],
      tables: ["customers", "principals"],
      activity: ["customer.suspended", "principal.suspended"],
    },
    {
      ...UNSEEN,
      when: "it groups nobody",
      states: ["customer ACTIVE → SUSPENDED"],
      tables: ["customers"],
      activity: ["customer.suspended"],
    },
  ],

  reactivateCustomer: [
    {
      ...UNSEEN,
      when: "nothing else stops its principals",
      states: ["customer SUSPENDED → ACTIVE", "principal SUSPENDED → ACTIVE"],
      tables: ["customers", "principals"],
      activity: ["customer.reactivated", "principal.reactivated"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      when: "agents of its principals return with it",
      states: ["customer SUSPENDED → ACTIVE", "principal SUSPENDED → ACTIVE", "agent SUSPENDED → ACTIVE"],
      tables: ["agents", "customers", "principals"],
      activity: ["agent.reactivated", "customer.reactivated", "principal.reactivated"],
      events: { agent: ["agent.status_changed"], principal: ["principal.status_changed"] },
      directory: { agent: ["status_changed"] },
      document: {},
      certificate: { agent: ["reinstated"] },
      ...NO_NOTICE,
    },
    {
      ...UNSEEN,
      when: "their attestations have ended meanwhile",
      states: ["customer SUSPENDED → ACTIVE", "principal SUSPENDED → ATTESTATION_EXPIRED"],
      tables: ["customers", "principals"],
      activity: ["customer.reactivated", "principal.reactivated"],
      events: { principal: ["principal.status_changed"] },
    },
    {
      ...UNSEEN,
      when: "their platform stops them too",
      states: ["customer SUSPENDED → ACTIVE"],
      tables: ["customers", "principals"],
      activity: ["customer.reactivated", "principal.reactivated"],
    },
  ],

  deleteCustomer: [
    {
      when: "it groups nobody",
      states: ["customer ACTIVE → none"],
      tables: ["customers"],
      activity: ["customer.deleted"],
      ...UNSEEN,
    },
    {
      when: "it is SUSPENDED and groups nobody",
      states: ["customer SUSPENDED → none"],
      tables: ["customers"],
      activity: ["customer.deleted"],
      ...UNSEEN,
    },
  ],
};
