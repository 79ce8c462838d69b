// Specification 3.3 and contract section 5: changes of an agent's scope and of its status by its platform.
import { type Changes, recordActivity, recordDirectoryChange, recordEvent } from "../activity/store.ts";
import { type Examination, examination, type ManagementCall } from "../call.ts";
import { type FieldError, fieldError, ServiceError, validationError } from "../core/errors.ts";
import { tryMove } from "../core/machine.ts";
import { effectivePrincipalStatus } from "../principals/states.ts";
import { certify } from "./activation.ts";
import { escrowStateOf, scopeOf, writeAid } from "./aid.ts";
import { exceeding } from "./delegation.ts";
import { type EconomicRole, scopeFaults } from "./roles.ts";
import type { AgentView, ScopePatch, StatusPatch } from "./schema.ts";
import { type AgentStatus, type AgentTrigger, agentMachine, effectiveAgentStatus } from "./states.ts";
import {
  type AgentRow,
  type AgentWithPrincipal,
  findAgent,
  findAncestors,
  findEscrows,
  findMarkets,
  insertCertificate,
  updateAgent,
  whileStanding,
} from "./store.ts";
import { toAgentView } from "./views.ts";

const readForEdit = (call: ManagementCall, did: string) =>
  call.read({
    found: findAgent(call.db, call.scope, did),
    markets: findMarkets(call.db, did, call.scope.environment),
    escrows: findEscrows(call.db, did, call.scope.environment),
    ancestors: findAncestors(call.db, did),
  });

export async function patchScope(call: ManagementCall, did: string, patch: ScopePatch): Promise<AgentView> {
  const { db, now, deps } = call;
  const { found, markets, escrows, ancestors, caller } = await readForEdit(call, did);
  if (!found) throw new ServiceError("not_found");
  const { agent: before, principal } = found;
  const scoped = applyScope(before, patch);
  const faults = patchFaults(before, patch, scoped, ancestors);
  if (faults.length > 0) throw validationError(faults);
  refuseFinal(before);
  const changes = changesBetween(scopeOf(before), scopeOf(scoped));
  if (Object.keys(changes).length === 0) throw new ServiceError("no_changes_requested");

  const edited: AgentRow = { ...scoped, version: before.version + 1, revision: before.revision + 1, updatedAt: now };
  // The certificate states the scope, so a new one is issued for the same key; the old one stays good, because what an
  // agent may do is always judged by its live scope.
  const standing = effectivePrincipalStatus(principal, now);
  const certifiable = edited.certificate !== null && standing === "ACTIVE";
  const certificate = certifiable ? await certify(deps, edited, principal) : null;
  const agent: AgentRow = { ...edited, ...certificate?.columns };
  const source = { agent, principal, markets, escrows };
  const view = toAgentView(deps.config, source, now);
  await call.commit(
    [
      ...updateAgent(db, before, agent),
      ...(certificate ? [insertCertificate(db, certificate.row)] : []),
      ...(await writeAid(db, deps, source, now, true)),
      recordActivity(db, agent, now, {
        action: "agent.scope_changed",
        actor: caller.actor,
        subject: { type: "agent", id: did },
        changes,
      }),
      ...(agent.status === "DRAFT" ? [] : [recordDirectoryChange(db, agent.environment, did, "updated", now)]),
    ],
    view,
  );
  return view;
}

/** Against the agent's role, and against its delegator. */
function patchFaults(before: AgentRow, given: unknown, scoped: AgentRow, ancestors: readonly AgentRow[]): FieldError[] {
  const [delegator] = ancestors;
  const ofRole = scopeFaults(before.economicRole as EconomicRole, { ...(given as object) }, "", false);
  const wider = delegator ? exceeding(scoped, delegator) : [];
  return [
    ...ofRole,
    ...wider
      .filter((field) => !ofRole.some((fault) => fault.field === field))
      .map((field) => fieldError(field, "scope_exceeds_delegator")),
  ];
}

/** Of a body that the schema finds faulty: `valid` is the rest of `given`. */
export function examineScopePatch(call: ManagementCall, did: string, given: unknown, valid: ScopePatch): Examination {
  const reads = { found: findAgent(call.db, call.scope, did), ancestors: findAncestors(call.db, did) };
  return examination(reads, ({ found, ancestors }) => {
    if (!found) throw new ServiceError("not_found");
    return patchFaults(found.agent, given, applyScope(found.agent, valid), ancestors);
  });
}

/** Specification 3.3: a REVOKED or TERMINATED agent is not edited. */
export function refuseFinal(agent: AgentRow): void {
  const final = agent.status === "REVOKED" || agent.status === "TERMINATED";
  if (final) throw new ServiceError("agent_status_not_mutable", { detail: { status: agent.status } });
}

function applyScope(agent: AgentRow, patch: ScopePatch): AgentRow {
  const pick = <T>(value: T | undefined, present: T): T => (value === undefined ? present : value);
  return {
    ...agent,
    authorizedActions: pick(patch.authorized_actions, agent.authorizedActions),
    capabilities: pick(patch.capabilities, agent.capabilities),
    disputeWindowDays: pick(patch.dispute_window_days, agent.disputeWindowDays),
    maxTransactionValue: pick(patch.max_transaction_value, agent.maxTransactionValue),
    spendingLimit: pick(patch.spending_limit, agent.spendingLimit),
    minimumCounterpartyCertTier: pick(patch.minimum_counterparty_cert_tier, agent.minimumCounterpartyCertTier),
    minimumCounterpartyAr: pick(patch.minimum_counterparty_ar, agent.minimumCounterpartyAr),
  };
}

function changesBetween(before: Record<string, unknown>, after: Record<string, unknown>): Changes {
  const changed = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return Object.fromEntries(
    changed.map((name) => [`scope.${name}`, { from: before[name] ?? null, to: after[name] ?? null }]),
  );
}

/** As the agent is shown: stopped with its principal, whether or not that is recorded. */
function statusOf({ agent, principal }: AgentWithPrincipal, now: number) {
  const principalStatus = effectivePrincipalStatus(principal, now);
  const status = effectiveAgentStatus(agent.status, principalStatus);
  return { status, ...(principalStatus !== "ACTIVE" && { principal_status: principalStatus }) };
}

const TRIGGERS: Readonly<Record<StatusPatch["status"], AgentTrigger>> = {
  ACTIVE: "patch_active",
  SUSPENDED: "patch_suspended",
  TERMINATED: "patch_terminated",
};

export async function patchStatus(call: ManagementCall, did: string, patch: StatusPatch): Promise<AgentView> {
  const { db, now, deps } = call;
  const { found, markets, escrows, caller } = await readForEdit(call, did);
  if (!found) throw new ServiceError("not_found");
  const { agent: before, principal } = found;
  const waited = patch.status === "ACTIVE" && before.suspendedFrom === "FUNDING";
  const trigger = waited ? "patch_funding" : TRIGGERS[patch.status];
  const moved = tryMove(agentMachine, before.status as AgentStatus, trigger);
  if (!moved.ok) {
    const detail = statusOf(found, now);
    const message = `The agent is ${detail.status}: that does not permit this.`;
    throw new ServiceError(moved.code, { detail, ...(moved.code === "invalid_status" && { message }) });
  }
  const { from, to } = moved.move;
  const runs = to === "ACTIVE" || to === "FUNDING";
  if (runs) {
    const standing = effectivePrincipalStatus(principal, now);
    if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: statusOf(found, now) });
    if (escrowStateOf(before.economicRole, escrows) === "CONSTRAINED") {
      throw new ServiceError("escrow_constrained_cannot_reactivate");
    }
  }
  const agent: AgentRow = {
    ...before,
    status: to,
    suspensionReason: to === "SUSPENDED" ? "platform" : null,
    suspendedFrom: to === "SUSPENDED" ? from : null,
    statusNote: patch.reason ?? null,
    updatedAt: now,
  };
  const view = toAgentView(deps.config, { agent, principal, markets, escrows }, now);
  const listed = before.certificate !== null;
  await call.commit(
    [
      ...updateAgent(db, before, agent, runs ? whileStanding(now) : undefined),
      recordActivity(db, agent, now, {
        action: to === "SUSPENDED" ? "agent.suspended" : to === "TERMINATED" ? "agent.terminated" : "agent.reactivated",
        actor: caller.actor,
        subject: { type: "agent", id: did },
        changes: { status: { from, to } },
      }),
      recordEvent(db, agent, now, { type: "agent.status_changed", object: view }),
      ...(listed
        ? [recordDirectoryChange(db, agent.environment, did, to === "TERMINATED" ? "revoked" : "status_changed", now)]
        : []),
    ],
    view,
  );
  return view;
}
