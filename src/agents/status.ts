// Suspends, reactivates, terminates and revokes an agent (AGT-15 to AGT-18, AGT-31).
import type { ManagementCall } from "../call.ts";
import { systemClock } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { type Move, tryMove } from "../core/machine.ts";
import {
  type ActivityAction,
  type Actor,
  type AgentStatus,
  type ChangeType,
  isActiveOrFunding,
  isFinal,
} from "../core/vocabulary.ts";
import { dropAbsentReads } from "../db/batch.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { pickWorstEscrowState } from "../escrow/states.ts";
import type { AidSource } from "../identity/aid.ts";
import { certify, type IssuedCertificate, namesEarlierAttestation, statesOtherScope } from "../identity/certificate.ts";
import { type DrawnPlace, findCertificatesSetToEnd, findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { toEffectiveAgentStatus, toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { buildSourceReads, hasAttestationUntil, isSuspendedFor } from "./find-store.ts";
import { toAgentView } from "./read.ts";
import type { MovedAgentView } from "./responses.ts";
import { reviseAgent, toAidSource } from "./revise.ts";
import type { AgentView, RevocationInput, StatusPatch } from "./schema.ts";
import { type AgentTrigger, agentMachine } from "./states.ts";

const TRIGGERS: Readonly<Record<StatusPatch["status"], AgentTrigger>> = {
  ACTIVE: "patch_active",
  SUSPENDED: "patch_suspended",
  TERMINATED: "patch_terminated",
};

type StatusRecords = { readonly action: ActivityAction; readonly listing: ChangeType };
const STATUS_RECORDS: Readonly<Partial<Record<AgentStatus, StatusRecords>>> = {
  SUSPENDED: { action: "agent.suspended", listing: "status_changed" },
  REVOKED: { action: "agent.revoked", listing: "revoked" },
  TERMINATED: { action: "agent.terminated", listing: "revoked" },
};
const REACTIVATION_RECORDS: StatusRecords = { action: "agent.reactivated", listing: "status_changed" };

export const toStatusRecords = (to: AgentStatus): StatusRecords => STATUS_RECORDS[to] ?? REACTIVATION_RECORDS;

export async function patchStatus(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  patch: StatusPatch,
): Promise<MovedAgentView> {
  const { db, tenant, now } = call;
  const returns = patch.status === "ACTIVE";
  const { caller, place, ending, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    ...dropAbsentReads({
      place: returns ? findListPlace(db) : null,
      ending: returns ? findCertificatesSetToEnd(db, [did]) : null,
    }),
  });
  const before = toAidSource(object, found);
  const moved = decideMove(before, chooseAgentTrigger(before, patch), now);
  const act = { reason: patch.reason ?? null, actor: caller.actor };
  if (moved.from === moved.to) return keepSuspended(call, before, act);
  return changeStatus(call, before, moved, act, { place: place ?? null, ends: ending?.has(did) ?? false });
}

/** Withdraws an agent for good: it is listed as revoked, its certificates become invalid, and its unpaid intents end (AGT-31). */
export async function revokeAgent(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  { reason }: RevocationInput,
): Promise<AgentView> {
  const { caller, object, ...found } = await call.read(buildSourceReads(call.db, call.tenant, did));
  const before = toAidSource(object, found);
  const moved = decideMove(before, "revoke", call.now);
  return changeStatus(call, before, moved, { reason, actor: caller.actor }, NO_CERTIFICATE);
}

type StatusAct = { readonly reason: string | null; readonly actor: Actor };
/** The reads that decide on a new certificate at a reactivation. `ends`: the present one was set to end before its expiry. */
type CertificateReads = { readonly place: DrawnPlace | null; readonly ends: boolean };
const NO_CERTIFICATE: CertificateReads = { place: null, ends: false };

async function changeStatus(
  call: ManagementCall,
  before: AidSource,
  { from, to }: Move<AgentStatus>,
  { reason, actor }: StatusAct,
  certifying: CertificateReads,
): Promise<MovedAgentView> {
  const { db, now, deps } = call;
  const runs = isActiveOrFunding(to);
  const { attestationExpiresAt: endsAt } = before.principal;
  if (runs) refuseReactivation(before, now);
  const { action, listing } = toStatusRecords(to);
  const certificate = runs ? await recertify(call, before, to, certifying) : null;
  const { after, statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: {
        status: to,
        suspensionReason: to === "SUSPENDED" ? "platform" : null,
        suspendedFrom: to === "SUSPENDED" ? from : null,
        statusNote: reason,
        // A restatement of the principal may not have written this end yet.
        ...(runs && { endsAt }),
      },
      newVersion: certificate !== null,
      certificate,
      ...(certificate !== null && isOfEarlierAttestation(before) && { earlierCountUntil: systemClock.now() }),
      ...(runs && { also: hasAttestationUntil(now, endsAt) }),
      activity: { action, actor, changes: { status: { from, to } } },
      events: ["agent.status_changed"],
      listing,
    },
    now,
  );
  const view = {
    ...toAgentView(deps.config, after, now),
    ...(certificate !== null && { certificate: certificate.text }),
  };
  await call.commit(statements, view);
  return view;
}

/**
 * A certificate ends with the attestation that it names, so under the next one the agent returns with a new certificate for the same key
 * (PRN-21). It also gets one if its scope changed while none could be issued (AGT-22).
 */
async function recertify(
  call: ManagementCall,
  before: AidSource,
  status: AgentStatus,
  { place, ends }: CertificateReads,
): Promise<IssuedCertificate | null> {
  const { agent, principal, certificate } = before;
  if (certificate === null) return null;
  if (!ends && !isOfEarlierAttestation(before) && !statesOtherScope(certificate, agent)) return null;
  return certify(call, { ...agent, status }, principal, place);
}

const isOfEarlierAttestation = ({ certificate, principal }: AidSource): boolean =>
  certificate !== null && namesEarlierAttestation(certificate, principal);

/**
 * Suspends an agent that its principal or its account has already suspended, so that it stays suspended when they are reinstated (AGT-19). Its
 * status does not change, so only the activity log records this.
 */
async function keepSuspended(call: ManagementCall, before: AidSource, { reason, actor }: StatusAct) {
  const { db, now, deps } = call;
  const { suspensionReason } = before.agent;
  const { after, statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: { suspensionReason: "platform", statusNote: reason },
      newVersion: false,
      also: isSuspendedFor(suspensionReason),
      activity: {
        action: "agent.suspended",
        actor,
        changes: { suspension_reason: { from: suspensionReason, to: "platform" } },
      },
      listing: null,
    },
    now,
  );
  const view = toAgentView(deps.config, after, now);
  await call.commit(statements, view);
  return view;
}

/** An agent that was suspended while FUNDING returns to FUNDING (AGT-16). */
const chooseAgentTrigger = ({ agent }: AidSource, { status }: StatusPatch): AgentTrigger =>
  status === "ACTIVE" && agent.suspendedFrom === "FUNDING" ? "patch_funding" : TRIGGERS[status];

function decideMove({ agent, principal }: AidSource, trigger: AgentTrigger, now: number): Move<AgentStatus> {
  const shown = toEffectiveStatus(agent.status, principal, now);
  // The agents of a CLOSED principal have ended, even if their rows do not say so yet.
  const status = isFinal(shown.status) ? shown.status : agent.status;
  const moved = tryMove(agentMachine, status, trigger);
  const repeated = moved.ok && moved.move.from === moved.move.to && isOnlySuspendedByPlatform(agent);
  if (moved.ok && !repeated) return moved.move;
  const code = moved.ok ? "invalid_status" : moved.code;
  const message = `The agent is ${shown.status}, which does not permit this.`;
  throw new ServiceError(code, { detail: shown, ...(code === "invalid_status" && { message }) });
}

/** True unless its principal or its account has suspended it. */
const isOnlySuspendedByPlatform = ({ suspensionReason }: AgentRow): boolean =>
  suspensionReason === null || suspensionReason === "platform";

/** Refuses a reactivation under a principal that is not ACTIVE, or while a dispute constrains the escrow (AGT-17). */
function refuseReactivation({ agent, principal, escrows }: AidSource, now: number): void {
  if (toEffectivePrincipalStatus(principal, now) !== "ACTIVE") {
    throw new ServiceError("invalid_status", { detail: toEffectiveStatus(agent.status, principal, now) });
  }
  if (pickWorstEscrowState(agent.economicRole, escrows) === "CONSTRAINED") {
    throw new ServiceError("escrow_constrained_cannot_reactivate");
  }
}

/** The effective status, and the principal's unless that is ACTIVE (AGT-19). */
function toEffectiveStatus(stored: AgentStatus, principal: AidSource["principal"], now: number) {
  const principalStatus = toEffectivePrincipalStatus(principal, now);
  const status = toEffectiveAgentStatus(stored, principalStatus);
  return { status, ...(principalStatus !== "ACTIVE" && { principal_status: principalStatus }) };
}
