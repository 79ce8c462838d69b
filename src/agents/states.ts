// The agent's state machine as data (AGT-13 to AGT-16). The effective status at an instant is computed in principals/.
import { defineMachine, refuse } from "../core/machine.ts";
import { AGENT_STATUSES, type AgentStatus, CASCADE_TRIGGERS } from "../core/vocabulary.ts";

export const AGENT_TRIGGERS = [
  "activate",
  "patch_active",
  "patch_funding",
  "patch_suspended",
  "patch_terminated",
  "revoke",
  ...CASCADE_TRIGGERS,
  "account_returns_funding",
  "reactivate",
  "reactivate_funding",
  "promote_unfunded",
  "fund",
] as const;
export type AgentTrigger = (typeof AGENT_TRIGGERS)[number];

export const agentMachine = defineMachine<AgentStatus, AgentTrigger>({
  name: "agent",
  states: AGENT_STATUSES,
  triggers: AGENT_TRIGGERS,
  table: {
    DRAFT: {
      activate: "ACTIVE",
      patch_active: refuse("use_activate_endpoint"),
      patch_terminated: "TERMINATED",
      revoke: "REVOKED",
      principal_closes: "REVOKED",
    },
    ACTIVE: {
      patch_suspended: "SUSPENDED",
      patch_terminated: "TERMINATED",
      revoke: "REVOKED",
      principal_stops: "SUSPENDED",
      principal_closes: "REVOKED",
      promote_unfunded: "FUNDING",
    },
    SUSPENDED: {
      patch_active: "ACTIVE",
      // An agent that was suspended while FUNDING returns to FUNDING (AGT-16).
      patch_funding: "FUNDING",
      // A platform may also suspend an agent that its principal or its account has already suspended.
      patch_suspended: "SUSPENDED",
      patch_terminated: "TERMINATED",
      revoke: "REVOKED",
      principal_closes: "REVOKED",
      // Each returns to the status from which the account's suspension took it (ACC-26).
      account_returns: "ACTIVE",
      account_returns_funding: "FUNDING",
      // `reactivate_agents` reactivates all agents that were suspended with their principal (PRN-21).
      reactivate: "ACTIVE",
      reactivate_funding: "FUNDING",
    },
    FUNDING: {
      fund: "ACTIVE",
      // A second promotion while the escrow is still unfunded.
      promote_unfunded: refuse("escrow_below_threshold"),
      patch_suspended: "SUSPENDED",
      patch_terminated: "TERMINATED",
      revoke: "REVOKED",
      principal_stops: "SUSPENDED",
      principal_closes: "REVOKED",
    },
    REVOKED: {},
    TERMINATED: {},
  },
});
