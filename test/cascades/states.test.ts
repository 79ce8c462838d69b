// Every status and every trigger of the agent, the principal and the customer (AGT-13 to AGT-19, PRN-15, PRN-24).
import { describe, expect, it } from "vitest";
import { agentMachine } from "../../src/agents/states.ts";
import { type Machine, tryMove } from "../../src/core/machine.ts";
import { customerMachine } from "../../src/customers/states.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../../src/principals/effective-status.ts";
import { principalMachine } from "../../src/principals/states.ts";

type Row = readonly [trigger: string, ...cells: string[]];

/** One line for each trigger, one cell for each status. Lower case is the code of a refusal, and `-` is invalid_status. */
const AGENT_STATES = ["DRAFT", "ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED", "FUNDING"] as const;
const AGENT: readonly Row[] = [
  // AGT-14: only a DRAFT is activated.
  ["activate", "ACTIVE", "-", "-", "-", "-", "-"],
  // AGT-15, AGT-16: the patch does not activate a DRAFT; it reactivates a SUSPENDED agent; a FUNDING one waits for the chain.
  ["patch_active", "use_activate_endpoint", "-", "ACTIVE", "-", "-", "-"],
  // AGT-16: an agent that was suspended while FUNDING returns to FUNDING.
  ["patch_funding", "-", "-", "FUNDING", "-", "-", "-"],
  // AGT-19: an agent that was stopped from above can be suspended by its platform too.
  ["patch_suspended", "-", "SUSPENDED", "SUSPENDED", "-", "-", "SUSPENDED"],
  // AGT-13: final.
  ["patch_terminated", "TERMINATED", "TERMINATED", "TERMINATED", "-", "-", "TERMINATED"],
  ["revoke", "REVOKED", "REVOKED", "REVOKED", "-", "-", "REVOKED"],
  // AGT-19: a stop of the principal suspends active agents.
  ["principal_stops", "-", "SUSPENDED", "-", "-", "-", "SUSPENDED"],
  // AGT-13: from any status, except that REVOKED and TERMINATED are final already.
  ["principal_closes", "REVOKED", "REVOKED", "REVOKED", "-", "-", "REVOKED"],
  // ACC-26: an agent that the suspension of an account took returns to its earlier status.
  ["account_returns", "-", "-", "ACTIVE", "-", "-", "-"],
  ["account_returns_funding", "-", "-", "FUNDING", "-", "-", "-"],
  // PRN-21: so does an agent that a stop of its principal took.
  ["reactivate", "-", "-", "ACTIVE", "-", "-", "-"],
  ["reactivate_funding", "-", "-", "FUNDING", "-", "-", "-"],
  // PRN-24: only the principal returns with its customer.
  ["principal_returns", "-", "-", "-", "-", "-", "-"],
  // AGT-30: only an ACTIVE agent is promoted; an unfunded one becomes FUNDING, and a further call is escrow_below_threshold.
  ["promote_unfunded", "-", "FUNDING", "-", "-", "-", "escrow_below_threshold"],
  ["fund", "-", "-", "-", "-", "-", "ACTIVE"],
];

const PRINCIPAL_STATES = ["ACTIVE", "ATTESTATION_EXPIRED", "SUSPENDED", "CLOSED"] as const;
const PRINCIPAL: readonly Row[] = [
  // PRN-12: the attestation ends or is revoked.
  ["attestation_ends", "ATTESTATION_EXPIRED", "-", "SUSPENDED", "-"],
  // PRN-15: a new attestation returns it to ACTIVE, unless it is SUSPENDED or CLOSED.
  ["attest", "ACTIVE", "ACTIVE", "SUSPENDED", "-"],
  // PRN-19: a principal that its customer has stopped can be suspended by its platform too.
  ["suspend", "SUSPENDED", "SUSPENDED", "SUSPENDED", "-"],
  ["reactivate", "-", "-", "ACTIVE", "-"],
  ["reactivate_expired", "-", "-", "ATTESTATION_EXPIRED", "-"],
  ["reactivate_held", "-", "-", "SUSPENDED", "-"],
  ["close", "CLOSED", "CLOSED", "CLOSED", "-"],
];

const CUSTOMER_STATES = ["ACTIVE", "SUSPENDED"] as const;
const CUSTOMER: readonly Row[] = [
  // PRN-24: a second suspension, or reactivation, is refused.
  ["suspend", "SUSPENDED", "-"],
  ["reactivate", "-", "ACTIVE"],
];

function cells(rows: readonly Row[], states: readonly string[]) {
  return rows.flatMap(([trigger, ...row]) => states.map((state, i) => [state, trigger, row[i] ?? "?"] as const));
}

function outcome(machine: unknown, state: string, trigger: string): string {
  const result = tryMove(machine as Machine<string, string>, state, trigger);
  if (result.ok) return result.move.from === state ? result.move.to : "moved from another state";
  return result.code === "invalid_status" ? "-" : result.code;
}

describe("the agent's machine", () => {
  it("has the states and triggers of the table and no others", () => {
    expect([...agentMachine.states].sort()).toEqual([...AGENT_STATES].sort());
    expect([...agentMachine.triggers].sort()).toEqual(AGENT.map(([trigger]) => trigger).sort());
  });

  it.each(cells(AGENT, AGENT_STATES))("%s × %s: %s", (state, trigger, expected) => {
    expect(outcome(agentMachine, state, trigger)).toBe(expected);
  });
});

describe("the principal's machine", () => {
  it("has the states and triggers of the table and no others", () => {
    expect([...principalMachine.states].sort()).toEqual([...PRINCIPAL_STATES].sort());
    expect([...principalMachine.triggers].sort()).toEqual(PRINCIPAL.map(([trigger]) => trigger).sort());
  });

  it.each(cells(PRINCIPAL, PRINCIPAL_STATES))("%s × %s: %s", (state, trigger, expected) => {
    expect(outcome(principalMachine, state, trigger)).toBe(expected);
  });
});

describe("the customer's machine", () => {
  it("has the states and triggers of the table and no others", () => {
    expect([...customerMachine.states].sort()).toEqual([...CUSTOMER_STATES].sort());
    expect([...customerMachine.triggers].sort()).toEqual(CUSTOMER.map(([trigger]) => trigger).sort());
  });

  it.each(cells(CUSTOMER, CUSTOMER_STATES))("%s × %s: %s", (state, trigger, expected) => {
    expect(outcome(customerMachine, state, trigger)).toBe(expected);
  });
});

describe("the effective status at an instant", () => {
  const expiresAt = 1_000;

  it.each([
    ["ACTIVE", null, 999, "ACTIVE"],
    ["ACTIVE", null, 1_000, "ATTESTATION_EXPIRED"],
    ["ACTIVE", null, 1_001, "ATTESTATION_EXPIRED"],
    ["ATTESTATION_EXPIRED", null, 999, "ATTESTATION_EXPIRED"],
    ["SUSPENDED", null, 1_001, "SUSPENDED"],
    ["CLOSED", null, 1_001, "CLOSED"],
    // ACC-25: CLOSED is shown before SUSPENDED before ATTESTATION_EXPIRED.
    ["ACTIVE", "SUSPENDED", 999, "SUSPENDED"],
    ["ACTIVE", "SUSPENDED", 1_000, "SUSPENDED"],
    ["ATTESTATION_EXPIRED", "SUSPENDED", 1_001, "SUSPENDED"],
    ["CLOSED", "SUSPENDED", 999, "CLOSED"],
    ["ACTIVE", "CLOSED", 999, "CLOSED"],
    ["SUSPENDED", "CLOSED", 999, "CLOSED"],
  ] as const)(
    "a principal stored as %s, its account stopped as %s, is at %i ms: %s (expiry at 1000, no grace)",
    (status, accountStopped, now, expected) => {
      expect(toEffectivePrincipalStatus({ status, attestationExpiresAt: expiresAt, accountStopped }, now)).toBe(
        expected,
      );
    },
  );

  it.each(AGENT_STATES.flatMap((status) => PRINCIPAL_STATES.map((principal) => [status, principal] as const)))(
    "an agent stored as %s under a principal that is %s has the right status",
    (status, principal) => {
      const final = status === "REVOKED" || status === "TERMINATED";
      const stopped = principal !== "ACTIVE" && (status === "ACTIVE" || status === "FUNDING");
      const expected = final ? status : principal === "CLOSED" ? "REVOKED" : stopped ? "SUSPENDED" : status;
      expect(toEffectiveAgentStatus(status, principal)).toBe(expected);
    },
  );
});
