// Suspends, returns and terminates an agent (AGT-15 to AGT-18).
import type { ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { tryMove } from "../core/machine.ts";
import { type ActivityAction, type AgentStatus, isRunning } from "../core/vocabulary.ts";
import { worstEscrowState } from "../escrow/states.ts";
import type { AidSource } from "../identity/aid.ts";
import type { ChangeType } from "../journal/feed.ts";
import { effectiveAgentStatus, effectivePrincipalStatus } from "../principals/standing.ts";
import { reviseAgent, sourceOf } from "./revise.ts";
import type { AgentView, StatusPatch } from "./schema.ts";
import { type AgentTrigger, agentMachine } from "./states.ts";
import { sourceReads, whileStanding } from "./store.ts";
import { toAgentView } from "./views.ts";

const TRIGGERS: Readonly<Record<StatusPatch["status"], AgentTrigger>> = {
  ACTIVE: "patch_active",
  SUSPENDED: "patch_suspended",
  TERMINATED: "patch_terminated",
};

type Reported = { readonly action: ActivityAction; readonly listing: ChangeType };
const REPORTED: Readonly<Partial<Record<AgentStatus, Reported>>> = {
  SUSPENDED: { action: "agent.suspended", listing: "status_changed" },
  REVOKED: { action: "agent.revoked", listing: "revoked" },
  TERMINATED: { action: "agent.terminated", listing: "revoked" },
};
const RETURNED: Reported = { action: "agent.reactivated", listing: "status_changed" };

/** The activity action and the directory record of a change, by the status that it leads to. */
export const reportOf = (to: AgentStatus): Reported => REPORTED[to] ?? RETURNED;

export async function patchStatus(call: ManagementCall, did: string, patch: StatusPatch): Promise<AgentView> {
  const { db, tenant, now, deps } = call;
  const { caller, ...found } = await call.read(sourceReads(db, tenant, did));
  const before = sourceOf(found);
  const { from, to } = moveOf(before, patch, now);
  const runs = isRunning(to);
  if (runs) refuseReturn(before, now);
  const { action, listing } = reportOf(to);
  const { after, statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: {
        status: to,
        suspensionReason: to === "SUSPENDED" ? "platform" : null,
        suspendedFrom: to === "SUSPENDED" ? from : null,
        statusNote: patch.reason ?? null,
      },
      newVersion: false,
      ...(runs && { also: whileStanding(now) }),
      activity: { action, actor: caller.actor, changes: { status: { from, to } } },
      events: ["agent.status_changed"],
      listing,
    },
    now,
  );
  const view = toAgentView(deps.config, after, now);
  await call.commit(statements, view);
  return view;
}

function moveOf({ agent, principal }: AidSource, patch: StatusPatch, now: number) {
  // An agent that was suspended while FUNDING returns to FUNDING (AGT-16).
  const waited = patch.status === "ACTIVE" && agent.suspendedFrom === "FUNDING";
  const moved = tryMove(agentMachine, agent.status, waited ? "patch_funding" : TRIGGERS[patch.status]);
  if (moved.ok) return moved.move;
  const detail = shownStatus(agent.status, principal, now);
  const message = `The agent is ${detail.status}: that does not permit this.`;
  throw new ServiceError(moved.code, { detail, ...(moved.code === "invalid_status" && { message }) });
}

/** Refuses a return under a stopped principal, or while a dispute constrains the escrow (AGT-17). */
function refuseReturn({ agent, principal, escrows }: AidSource, now: number): void {
  if (effectivePrincipalStatus(principal, now) !== "ACTIVE") {
    throw new ServiceError("invalid_status", { detail: shownStatus(agent.status, principal, now) });
  }
  if (worstEscrowState(agent.economicRole, escrows) === "CONSTRAINED") {
    throw new ServiceError("escrow_constrained_cannot_reactivate");
  }
}

/** The status that readers see: stopped with the principal, whether or not that is recorded (AGT-19). */
function shownStatus(stored: AgentStatus, principal: AidSource["principal"], now: number) {
  const principalStatus = effectivePrincipalStatus(principal, now);
  const status = effectiveAgentStatus(stored, principalStatus);
  return { status, ...(principalStatus !== "ACTIVE" && { principal_status: principalStatus }) };
}
