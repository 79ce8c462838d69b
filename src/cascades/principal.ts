// Suspends, reactivates and closes a platform's principal (PRN-18, PRN-19). From the commit on its agents follow by their effective status; their
// rows follow in slices (cascades.ts).
import {
  type ClosingPrincipal,
  findAgentIn,
  findClosingPrincipal,
  hasAgentIn,
  hasPrincipalDispute,
} from "../agents/slice-store.ts";
import type { ManagementCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { type Move, move } from "../core/machine.ts";
import { ACTIVE_OR_FUNDING, type ActivityAction, type PrincipalStatus } from "../core/vocabulary.ts";
import { leaveCustomer } from "../customers/store.ts";
import { dropAbsentReads, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { findWalk } from "../jobs/walk-store.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { toAttestationStop, toEffectivePrincipalStatus, toStoredStatus } from "../principals/effective-status.ts";
import { toEventPrincipal, toPrincipalView } from "../principals/read.ts";
import type { PrincipalView } from "../principals/schema.ts";
import { type PrincipalTrigger, principalMachine } from "../principals/states.ts";
import { changePrincipal } from "../principals/store.ts";
import { chooseCause, stopAgents } from "./cascades.ts";
import { ATTESTATION_END, expirePrincipal, isEndUnrecorded } from "./expire.ts";
import { refuseWhileStopping, settleReports } from "./reports.ts";
import { buildRestateReads, restateAndReactivate } from "./restate-agents.ts";
import type { ReactivationInput, StandingInput } from "./schema.ts";
import type { Cause } from "./slice.ts";
import { forgetReactivation, refuseLeft } from "./store.ts";
import { findAgentsToStop } from "./subjects.ts";

type Moved = Move<PrincipalStatus>;

/**
 * If the customer or the attestation has stopped the principal already, only the platform's stop is added, so that the principal stays stopped when
 * the other one ends.
 */
export async function suspendPrincipal(call: ManagementCall<PrincipalRow>, principalId: string, input: StandingInput) {
  const trigger = "principal_stops";
  const { found, before, actor, first, taken } = await readOwn(call, principalId, trigger);
  refuseTenant(before);
  if (before.platformStopped) throw toInvalidStatusError(before, call.now);
  const moved = move(principalMachine, before.status, "suspend");
  const after = applyPrincipalColumns(
    before,
    { status: moved.to, platformStopped: true, statusNote: input.reason ?? null },
    call.now,
  );
  const change: Change = { before, after, moved, action: "principal.suspended", first };
  return commitStop(call, change, found, taken({ trigger, reason: "principal", actor }));
}

/** Its agents stay SUSPENDED until each is reactivated, or all at once with `reactivate_agents`. */
export async function reactivatePrincipal(
  call: ManagementCall<PrincipalRow>,
  principalId: string,
  input: ReactivationInput,
) {
  const { db, deps, now } = call;
  const all = input.reactivate_agents ?? false;
  const {
    caller,
    object: before,
    cascade,
    agents,
  } = await call.read({
    cascade: findWalk(db, "cascade", principalId),
    ...dropAbsentReads({ agents: all ? buildRestateReads(deps, principalId).agents : null }),
  });
  refuseTenant(before);
  // The end of the attestation is not recorded while the principal is suspended, so it is set when another stop ends.
  const attestationStop = toAttestationStop(before, chooseAttestationNow(call, before));
  const left = { platformStopped: false, attestationStop };
  const moved = move(principalMachine, before.status, REACTIVATIONS[toStoredStatus({ ...before, ...left })]);
  if (!before.platformStopped) throw toInvalidStatusError(before, now);
  if (moved.to === "ACTIVE") refuseWhileStopping(cascade, before.status);
  const after = applyPrincipalColumns(before, { ...left, status: moved.to, statusNote: input.reason ?? null }, now);
  const returning = agents ? await restateAndReactivate(deps, after, { agents }, caller.actor, now) : null;
  const view = { ...toPrincipalView(after, now), ...(returning && { reactivation: returning.reactivation }) };
  const first = settleReports(db, [{ principal: before, cascade }], now);
  const change: Change = { before, after, moved, action: "principal.reactivated", first };
  await call.commit(
    [
      ...recordPrincipalMove(call, change, caller.actor),
      ...recordStatusEvent(call, change),
      ...(returning ? returning.statements : [forgetReactivation(db, principalId)]),
    ],
    view,
  );
  if (returning) call.background(returning.rest());
  return view;
}

const REACTIVATIONS: Readonly<Record<PrincipalStatus, PrincipalTrigger>> = {
  ACTIVE: "reactivate",
  ATTESTATION_EXPIRED: "reactivate_expired",
  SUSPENDED: "reactivate_held",
  CLOSED: "reactivate",
};

export const findNamedClosing = ({ db, tenant }: ManagementCall, { principal_id }: { principal_id: string }) =>
  findClosingPrincipal(db, tenant, principal_id);

/** Closes a principal for good: every agent is REVOKED, whatever its state, and the name and the reference become free. */
export async function closePrincipal(
  call: ManagementCall<ClosingPrincipal>,
  principalId: string,
  input: StandingInput,
) {
  const { db, now } = call;
  const trigger = "principal_closes";
  const { found, before, actor, first } = await readOwn(call, principalId, trigger);
  refuseTenant(before);
  const moved = move(principalMachine, before.status, "close");
  const runs = toEffectivePrincipalStatus(before, now) === "ACTIVE";
  if (runs && found.running)
    throw new ServiceError("close_blocked_open_disputes", { message: STILL_RUNNING, detail: found.running });
  if (found.disputed !== null)
    throw new ServiceError("close_blocked_open_disputes", {
      message: STILL_DISPUTED,
      detail: { did: found.disputed },
    });
  const set = {
    status: moved.to,
    closed: true,
    statusReason: "platform",
    statusNote: input.reason ?? null,
    customerId: null,
  };
  const above = [
    ...first,
    refuseLeft(db, [...(runs ? [hasAgentIn(principalId, ACTIVE_OR_FUNDING)] : []), hasPrincipalDispute(before)]),
    ...(before.customerId === null ? [] : [leaveCustomer(db, before.customerId)]),
  ];
  const after = applyPrincipalColumns(before, set, now);
  const change: Change = { before, after, moved, action: "principal.closed", first: above };
  return commitStop(call, change, found, { trigger, reason: "principal", actor });
}

const STILL_DISPUTED = "An agent of the principal is party to an open dispute.";
const STILL_RUNNING = "An agent of the principal is ACTIVE or FUNDING: suspend it or the principal first.";

// ---- Shared --------------------------------------------------------------------------------------------------------------

type Change = {
  readonly before: PrincipalRow;
  readonly after: PrincipalRow;
  readonly moved: Moved;
  readonly action: ActivityAction;
  readonly first: readonly Statement[];
};

async function readOwn(
  call: ManagementCall<PrincipalRow | ClosingPrincipal>,
  principalId: string,
  trigger: Cause["trigger"],
) {
  const closes = trigger === "principal_closes";
  const { caller, object, cascade, ...read } = await call.read({
    ...dropAbsentReads({
      running: closes ? findAgentIn(call.db, principalId, ACTIVE_OR_FUNDING) : null,
    }),
    cascade: findWalk(call.db, "cascade", principalId),
    ...findAgentsToStop(call.deps, principalId, trigger),
  });
  const { principal: own, disputed } = "principal" in object ? object : { principal: object, disputed: null };
  const found = { ...read, disputed };
  const { actor } = caller;
  // The end came before this act, so it is recorded first, as the job would have done.
  if (isEndUnrecorded(own, chooseAttestationNow(call, own))) {
    const { after: before, statements: first } = expirePrincipal(call.db, own, cascade, call.now);
    return { before, found, actor, first, taken: (): Cause => ATTESTATION_END };
  }
  const first = settleReports(call.db, [{ principal: own, cascade }], call.now);
  return { before: own, found, actor, first, taken: (cause: Cause) => chooseCause(cascade, cause) };
}

/**
 * The instant by which the end of an attestation is judged. The tenant principal belongs to both environments, so a sandbox's clock must not end it.
 */
const chooseAttestationNow = ({ deps, now }: ManagementCall, { tenant }: PrincipalRow): number =>
  tenant ? deps.clock.now() : now;

/** The tenant principal is suspended and closed only with its account (PRN-18, ACC-27). */
function refuseTenant({ tenant }: PrincipalRow): void {
  if (tenant) throw new ServiceError("tenant_principal_field_locked");
}

type ChangedColumns = Partial<
  Pick<
    PrincipalRow,
    "status" | "closed" | "statusReason" | "statusNote" | "platformStopped" | "attestationStop" | "customerId"
  >
>;

const applyPrincipalColumns = (before: PrincipalRow, set: ChangedColumns, now: number): PrincipalRow => ({
  ...before,
  ...set,
  updatedAt: Math.max(now, before.updatedAt + 1),
});

function toInvalidStatusError(principal: PrincipalRow, now: number): ServiceError {
  const { status, status_reason } = toPrincipalView(principal, now);
  const message = principal.platformStopped
    ? "The platform has already suspended the principal."
    : `The principal is ${status}, and its platform has not suspended it: this is not permitted.`;
  return new ServiceError("invalid_status", { detail: { status, status_reason }, message });
}

type Found = Omit<Awaited<ReturnType<typeof readOwn>>["found"], "running">;

async function commitStop(call: ManagementCall, change: Change, found: Found, cause: Cause): Promise<PrincipalView> {
  const { deps, now } = call;
  const view = toPrincipalView(change.after, now);
  const statements = [...recordPrincipalMove(call, change, cause.actor), ...recordStatusEvent(call, change)];
  const stopping = stopAgents(deps, { principals: [change.after], statements }, cause, found, now);
  await call.commit(stopping.statements, view);
  // A job continues the cascade if this fails.
  call.background(stopping.rest().catch(() => undefined));
  return view;
}

function recordPrincipalMove(
  { db, now }: ManagementCall,
  { before, after, moved, action, first }: Change,
  actor: Cause["actor"],
): Statement[] {
  const { statusNote: reason } = after;
  const changes: Changes = {
    status: { from: moved.from, to: moved.to },
    ...(reason !== null && { reason: { from: before.statusNote, to: reason } }),
  };
  const subject = { type: "principal", id: before.principalId };
  return [
    ...first,
    ...changePrincipal(db, before, after),
    recordActivity(db, before, now, { action, actor, subject, changes }),
  ];
}

/** An act that only adds or removes a stop changes no status, so it writes no event. */
const recordStatusEvent = ({ db, now }: ManagementCall, { after, moved }: Change): Statement[] =>
  moved.from === moved.to
    ? []
    : [
        recordEvent(db, after, now, {
          type: "principal.status_changed",
          object: toEventPrincipal(after, now),
          previous: { status: moved.from },
        }),
      ];
