// The rows of agents that move to another principal or to production in the table of consequences (table.ts).
import type { Cases } from "./words.ts";

export const MOVE_OPERATIONS: Readonly<Record<string, Cases>> = {
  transferAgent: [
    {
      when: "a consumer",
      tables: ["agents"],
      activity: ["agent.transferred"],
      events: { agent: ["agent.transferred"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced"] },
    },
    {
      when: "a provider, which the new principal counts and the old one no longer does",
      tables: ["agents", "principals"],
      activity: ["agent.transferred"],
      events: { agent: ["agent.transferred"] },
      directory: { agent: ["updated"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced"] },
    },
    {
      when: "a DRAFT",
      tables: ["agents"],
      activity: ["agent.transferred"],
      events: { agent: ["agent.transferred"] },
      document: { agent: ["unsigned version"] },
    },
  ],

  promoteAgent: [
    {
      when: "a consumer",
      tables: ["agents"],
      activity: ["agent.promoted"],
      events: { agent: ["agent.promoted"] },
      directory: { agent: ["registered", "revoked"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced"] },
    },
    {
      when: "a provider whose escrow in production is funded",
      states: ["escrow FUNDING → ACTIVE"],
      tables: ["agents", "escrows", "ledger_lines", "principals"],
      activity: ["agent.promoted"],
      events: { agent: ["agent.promoted"] },
      directory: { agent: ["registered", "revoked"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced"] },
    },
    {
      when: "a provider whose escrow is not funded, on a vault that the sandbox has used",
      states: ["agent ACTIVE → FUNDING", "escrow FUNDING → none", "market ACTIVE → none"],
      tables: ["agent_markets", "agents", "escrows", "principals"],
      activity: ["agent.promoted"],
      events: { agent: ["agent.promoted"] },
      directory: { agent: ["registered", "revoked"] },
      document: { agent: ["new version"] },
      certificate: { agent: ["issued", "replaced"] },
    },
    {
      when: "again, once its escrow is funded",
      states: ["agent FUNDING → ACTIVE", "escrow FUNDING → ACTIVE"],
      tables: ["agents", "escrows", "ledger_lines"],
      activity: ["agent.funded"],
      events: { agent: ["agent.status_changed", "agent.escrow_state_changed"] },
      directory: { agent: ["status_changed"] },
      document: { agent: ["new revision"] },
      certificate: { agent: ["reinstated"] },
    },
  ],
};
