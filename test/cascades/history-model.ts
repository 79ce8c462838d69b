// A plain model of statuses (PRN-11 to PRN-25, AGT-13 to AGT-19): principals, customers, attestations and agents as records, and each act as a few
// lines on them. It shares nothing with the service but the words.

export type PrincipalState = "ACTIVE" | "ATTESTATION_EXPIRED" | "SUSPENDED" | "CLOSED";
export type AgentState = "DRAFT" | "ACTIVE" | "SUSPENDED" | "REVOKED" | "TERMINATED";
export type Role = "CONSUMER" | "PROVIDER";
export type SuspensionReason = "principal" | "attestation" | "platform" | "operator";

export type Customer = { readonly id: string; suspended: boolean; deleted: boolean };
export type Attestation = { readonly id: string; readonly end: number; revoked: boolean };
export type Principal = {
  readonly id: string;
  customer: Customer | null;
  /** Its stops, except its attestation. */
  readonly stops: Set<"platform" | "customer">;
  attestation: Attestation;
  readonly earlier: Attestation[];
  closed: boolean;
};
export type Agent = {
  readonly did: string;
  readonly role: Role;
  readonly principal: Principal;
  /** The status after its own last change: the end of an attestation by its date changes no agent before it is recorded. */
  own: AgentState;
  reason: SuspensionReason | null;
};

/** The answer of a call: a status, and the code of a refusal. */
export type Outcome = readonly [status: number, code?: string];
export const INVALID: Outcome = [409, "invalid_status"];
export const ACCOUNT_SUSPENDED: Outcome = [403, "account_suspended"];
const REFUSED: Outcome = [422, "validation_failed"];

export class Model {
  now: number;
  readonly customers: Customer[] = [];
  readonly principals: Principal[] = [];
  readonly agents: Agent[] = [];
  /** True while the operator has stopped all principals. */
  accountSuspended = false;

  constructor(now: number) {
    this.now = now;
  }

  // ---- Statuses at this instant --------------------------------------------------------------------------------------------

  principalState(principal: Principal): PrincipalState {
    if (principal.closed) return "CLOSED";
    if (this.accountSuspended || principal.stops.size > 0) return "SUSPENDED";
    const { revoked, end } = principal.attestation;
    return revoked || end <= this.now ? "ATTESTATION_EXPIRED" : "ACTIVE";
  }

  /** The highest of several reasons is shown. */
  statusReason(principal: Principal): string | null {
    const { stops, attestation } = principal;
    const reasons: Record<PrincipalState, string | null> = {
      ACTIVE: null,
      CLOSED: "platform",
      SUSPENDED: this.accountSuspended ? "operator" : stops.has("platform") ? "platform" : "customer",
      ATTESTATION_EXPIRED: attestation.revoked ? "attestation_revoked" : "attestation_expired",
    };
    return reasons[this.principalState(principal)];
  }

  suspensionReason(agent: Agent): SuspensionReason | null {
    if (this.agentState(agent) !== "SUSPENDED") return null;
    return agent.own === "SUSPENDED" ? agent.reason : this.#stopReason(agent.principal);
  }

  /** The reason of the stop that keeps the agents from being active. */
  #stopReason(principal: Principal): SuspensionReason {
    if (this.accountSuspended) return "operator";
    return this.principalState(principal) === "ATTESTATION_EXPIRED" ? "attestation" : "principal";
  }

  agentState({ own, principal }: Agent): AgentState {
    const above = this.principalState(principal);
    if (above === "CLOSED" && own !== "TERMINATED") return "REVOKED";
    return above !== "ACTIVE" && own === "ACTIVE" ? "SUSPENDED" : own;
  }

  stands(principal: Principal): boolean {
    return this.principalState(principal) === "ACTIVE";
  }

  /** The customers that are not deleted. */
  clients(): Customer[] {
    return this.customers.filter(({ deleted }) => !deleted);
  }

  agentsOf(principal: Principal): Agent[] {
    return this.agents.filter((agent) => agent.principal === principal);
  }

  membersOf(customer: Customer): Principal[] {
    return this.principals.filter((principal) => principal.customer === customer);
  }

  // ---- The account -----------------------------------------------------------------------------------------------------------

  suspendAccount(): Outcome {
    if (this.accountSuspended) return INVALID;
    this.accountSuspended = true;
    for (const principal of this.principals) this.#stopAgents(principal, "operator");
    return [200];
  }

  /** An agent whose principal is stopped for another reason by now stays SUSPENDED for that reason. */
  reinstateAccount(): Outcome {
    if (!this.accountSuspended) return INVALID;
    this.accountSuspended = false;
    for (const agent of this.agents.filter(({ reason }) => reason === "operator")) {
      if (this.stands(agent.principal)) Object.assign(agent, { own: "ACTIVE", reason: null });
      else agent.reason = this.#stopReason(agent.principal);
    }
    return [200];
  }

  // ---- Principals and customers --------------------------------------------------------------------------------------------

  suspend(principal: Principal): Outcome {
    if (principal.closed || principal.stops.has("platform")) return INVALID;
    this.recordEnd(principal);
    principal.stops.add("platform");
    this.#stopAgents(principal, "principal");
    return [200];
  }

  reactivate(principal: Principal, returning: boolean): Outcome {
    if (principal.closed || !principal.stops.delete("platform")) return INVALID;
    if (returning) this.#reactivateAgents(principal);
    return [200];
  }

  close(principal: Principal): Outcome {
    if (principal.closed) return INVALID;
    const runs = this.agentsOf(principal).some((agent) => this.agentState(agent) === "ACTIVE");
    if (runs) return [409, "close_blocked_open_disputes"];
    principal.closed = true;
    principal.customer = null;
    for (const agent of this.agentsOf(principal)) {
      if (agent.own !== "TERMINATED") Object.assign(agent, { own: "REVOKED", reason: null });
    }
    return [200];
  }

  group(principal: Principal, customer: Customer | null): Outcome {
    if (customer === principal.customer) return [400, "no_changes_requested"];
    if (principal.closed || customer?.suspended) return INVALID;
    principal.customer = customer;
    principal.stops.delete("customer");
    return [200];
  }

  suspendCustomer(customer: Customer): Outcome {
    if (customer.suspended) return INVALID;
    customer.suspended = true;
    for (const principal of this.membersOf(customer)) {
      this.recordEnd(principal);
      principal.stops.add("customer");
      this.#stopAgents(principal, "principal");
    }
    return [200];
  }

  reactivateCustomer(customer: Customer, returning: boolean): Outcome {
    if (!customer.suspended) return INVALID;
    customer.suspended = false;
    for (const principal of this.membersOf(customer)) {
      principal.stops.delete("customer");
      if (returning) this.#reactivateAgents(principal);
    }
    return [200];
  }

  deleteCustomer(customer: Customer): Outcome {
    if (this.membersOf(customer).length > 0) return [409, "customer_not_empty"];
    customer.deleted = true;
    return [204];
  }

  // ---- Attestations --------------------------------------------------------------------------------------------------------

  /** A revoked attestation, or one that the principal has had, is a fault of the body, which comes first. */
  attest(principal: Principal, attestation: Attestation, returning: boolean): Outcome {
    const had = [principal.attestation, ...principal.earlier].includes(attestation);
    if (attestation.revoked || had) return REFUSED;
    if (principal.closed) return INVALID;
    this.recordEnd(principal);
    principal.earlier.push(principal.attestation);
    principal.attestation = attestation;
    if (returning) this.#reactivateAgents(principal);
    return [201];
  }

  /** Reactivates the agents that any stop of the principal suspended. */
  #reactivateAgents(principal: Principal): void {
    if (!this.stands(principal)) return;
    for (const agent of this.agentsOf(principal)) {
      if (agent.own === "SUSPENDED" && (agent.reason === "attestation" || agent.reason === "principal"))
        Object.assign(agent, { own: "ACTIVE", reason: null });
    }
  }

  /** Stops all principals that the attestation backs. */
  revoke(attestation: Attestation): Outcome {
    attestation.revoked = true;
    for (const principal of this.principals) {
      if (principal.attestation === attestation && !principal.closed) this.#stopAgents(principal, "attestation");
    }
    return [200];
  }

  /** The job records an end, and so do a suspension and an attestation before their own change. */
  recordEnd(principal: Principal): void {
    if (this.principalState(principal) === "ATTESTATION_EXPIRED") this.#stopAgents(principal, "attestation");
  }

  runJobs(): void {
    for (const principal of this.principals) this.recordEnd(principal);
  }

  // ---- Agents --------------------------------------------------------------------------------------------------------------

  activate(agent: Agent): Outcome {
    if (agent.own !== "DRAFT" || !this.stands(agent.principal)) return INVALID;
    agent.own = "ACTIVE";
    return [200];
  }

  suspendAgent(agent: Agent): Outcome {
    if (agent.principal.closed) return INVALID;
    if (agent.own !== "ACTIVE" && (agent.own !== "SUSPENDED" || agent.reason === "platform")) return INVALID;
    Object.assign(agent, { own: "SUSPENDED", reason: "platform" });
    return [200];
  }

  returnAgent(agent: Agent): Outcome {
    if (!agent.principal.closed && agent.own === "DRAFT") return [409, "use_activate_endpoint"];
    if (agent.own !== "SUSPENDED" || !this.stands(agent.principal)) return INVALID;
    Object.assign(agent, { own: "ACTIVE", reason: null });
    return [200];
  }

  terminate(agent: Agent): Outcome {
    if (agent.principal.closed || agent.own === "TERMINATED" || agent.own === "REVOKED") return INVALID;
    Object.assign(agent, { own: "TERMINATED", reason: null });
    return [200];
  }

  #stopAgents(principal: Principal, reason: "principal" | "attestation" | "operator"): void {
    for (const agent of this.agentsOf(principal)) {
      if (agent.own === "ACTIVE") Object.assign(agent, { own: "SUSPENDED", reason });
    }
  }
}
