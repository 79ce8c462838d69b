// Suspends and reactivates a platform's customer with all principals that it groups (PRN-24), and changes all principals of a group by one act
// (PRN-25). Each principal keeps its other stops. Agents follow a suspension, and are reactivated one by one, or all at once with
// `reactivate_agents`.
import type { ManagementCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { listStatesMovedBy, move } from "../core/machine.ts";
import type { ActivityAction, CascadeTrigger } from "../core/vocabulary.ts";
import { toCustomerView } from "../customers/customers.ts";
import type { CustomerView } from "../customers/schema.ts";
import { type CustomerTrigger, customerMachine } from "../customers/states.ts";
import { moveCustomer } from "../customers/store.ts";
import { type Condition, dropAbsentReads, type ReadResults, type Statement } from "../db/batch.ts";
import type { CustomerRow, PrincipalReport, PrincipalRow } from "../db/tables/principals.ts";
import { recordActivity } from "../journal/activity.ts";
import { toAttestationStop, toStoredStatus } from "../principals/effective-status.ts";
import {
  findGroup,
  type GroupMove,
  groupIds,
  isGroupedBy,
  isGroupedByWhile,
  isGroupStopping,
  refuseChangedPrincipals,
} from "../principals/group-store.ts";
import { moveGroupRows } from "../principals/store.ts";
import { type Cascading, stopAgents } from "./cascades.ts";
import { ATTESTATION_END, isEndUnrecorded } from "./expire.ts";
import { recordReports, toStillStoppingError } from "./reports.ts";
import { groupReactivationReads, reactivateGroup } from "./restate-agents.ts";
import type { Reactivation, ReactivationInput, StandingInput } from "./schema.ts";
import type { Cause } from "./slice.ts";
import { forgetReactivations, storeReports } from "./store.ts";
import { findAgentsToStopOfPrincipals } from "./subjects.ts";

export const suspendCustomer = (call: ManagementCall<CustomerRow>, customerId: string, input: StandingInput) =>
  moveCustomerWithGroup(call, customerId, input, SUSPENSION);

export const reactivateCustomer = (call: ManagementCall<CustomerRow>, customerId: string, input: ReactivationInput) =>
  moveCustomerWithGroup(call, customerId, input, REACTIVATION);

type Decision = {
  readonly trigger: CustomerTrigger;
  readonly action: ActivityAction;
  readonly cascade: CascadeTrigger;
  readonly customerStopped: boolean;
  readonly principalAction: ActivityAction;
};
type ReactivatedCustomer = CustomerView & { reactivation?: Reactivation };

const SUSPENSION: Decision = {
  trigger: "suspend",
  action: "customer.suspended",
  cascade: "principal_stops",
  customerStopped: true,
  principalAction: "principal.suspended",
};

const REACTIVATION: Decision = {
  trigger: "reactivate",
  action: "customer.reactivated",
  cascade: "principal_returns",
  customerStopped: false,
  principalAction: "principal.reactivated",
};

async function moveCustomerWithGroup(
  call: ManagementCall<CustomerRow>,
  customerId: string,
  input: ReactivationInput,
  { trigger, action, cascade, customerStopped, principalAction }: Decision,
): Promise<ReactivatedCustomer> {
  const { db, deps, now, tenant, environment } = call;
  const group = isGroupedByWhile(tenant, customerId, listStatesMovedBy(customerMachine, trigger));
  const all = input.reactivate_agents ?? false;
  const {
    caller,
    object: before,
    stopping,
    suspended,
    ...found
  } = await call.read({
    ...dropAbsentReads({
      stopping: customerStopped ? null : isGroupStopping(db, group),
      suspended: all ? findSuspendedOfFirst(deps, group) : null,
    }),
    ...groupReads(deps, group, cascade),
  });
  const moved = move(customerMachine, before.status, trigger);
  // A suspension is never refused for it: it takes over the earlier cascade.
  if (stopping) throw toStillStoppingError(before.status);
  const note = input.reason ?? null;
  const { actor, platformId } = caller;
  const after: CustomerRow = {
    ...before,
    status: moved.to,
    statusNote: note,
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
  const where = isGroupedBy({ platformId, environment }, customerId);
  const act = {
    where,
    set: { customerStopped },
    note,
    action: principalAction,
    cause: { trigger: cascade, reason: "principal", actor },
  } as const;
  const moving = moveGroup(deps, act, found, now, call.contended);
  const { first } = moving;
  const of = { first, others: found.principals.length > first.length, where };
  const returning = suspended ? await reactivateGroup(deps, of, { agents: suspended }, actor, now) : null;
  const view = { ...toCustomerView(after), ...(returning?.reactivation && { reactivation: returning.reactivation }) };
  const changes = {
    status: { from: moved.from, to: moved.to },
    ...(note !== null && { reason: { from: before.statusNote, to: note } }),
  };
  const subject = { type: "customer", id: customerId };
  await call.commit(
    [
      ...moveCustomer(db, before, after, moved),
      recordActivity(db, before, now, { action, actor, subject, changes }),
      ...moving.statements,
      ...(returning ? returning.statements : []),
      ...(returning || customerStopped ? [] : [forgetReactivations(db, customerId)]),
    ],
    view,
  );
  if (returning) call.background(returning.rest().catch(() => undefined));
  // A job continues the cascade if this fails.
  call.background(moving.rest().catch(() => undefined));
  return view;
}

// ---- One act on a group -------------------------------------------------------------------------------------------------

// The principals of a customer, or those that an attestation backs. One guarded batch changes what is above them and all of them, and reports the first
// ones with their first slice of agents. Cascades write the entries and events of the others, and change their agents.

export const FIRST_PRINCIPALS = 50;
const chooseFirstPrincipals = ({ slices }: Deps): number => slices?.principals ?? FIRST_PRINCIPALS;

export const groupReads = (deps: Deps, where: Condition, trigger: CascadeTrigger) => ({
  // One more shows whether others are left.
  principals: findGroup(deps.db, where, chooseFirstPrincipals(deps) + 1),
  ...findAgentsToStopOfPrincipals(deps, groupIds(where, chooseFirstPrincipals(deps)), trigger),
});
type Found = ReadResults<ReturnType<typeof groupReads>>;

/** The first slice of agents that a reactivation of the group may reactivate. */
export const findSuspendedOfFirst = (deps: Deps, where: Condition) =>
  groupReactivationReads(deps, groupIds(where, chooseFirstPrincipals(deps))).agents;

/** The change of one act to the principals of a group, the entry that reports it, and the cause for their agents. */
export type GroupAct = GroupMove & { readonly action: ActivityAction; readonly cause: Cause };

/**
 * Changes a group, after the statements of what is above it. `contended`: cascades report the first principals too, because callers that keep
 * changing them would delay the act. `first`: the principals that the batch reports, after the change.
 */
export function moveGroup(
  deps: Deps,
  act: GroupAct,
  { principals, ...found }: Found,
  now: number,
  contended: boolean,
): Cascading & { readonly first: readonly PrincipalRow[] } {
  const { db } = deps;
  const first = contended ? [] : principals.slice(0, chooseFirstPrincipals(deps));
  const isEnded = (before: PrincipalRow) => recordsEndFirst(act) && isEndUnrecorded(before, now);
  const moved = first.map((before) => movePrincipal(act, before, isEnded(before), now));
  const statements = [
    refuseChangedPrincipals(db, first),
    storeReports(
      db,
      act,
      { ...act.cause, startedAt: now },
      recordsEndFirst(act)
        ? { action: ATTESTATION_EXPIRED_ACTION, begun: { ...ATTESTATION_END, startedAt: now } }
        : null,
      first.map(({ principalId }) => principalId),
    ),
    moveGroupRows(db, act, now),
    ...recordReports(db, moved, now),
  ];
  // An agent belongs to the stop that came first, so to an unrecorded end if there is one.
  const { ended = [], standing = [] } = Object.groupBy(moved, ({ reports }) =>
    reports.length > 1 ? "ended" : "standing",
  );
  const both = ended.length > 0 && standing.length > 0;
  const more = both || principals.length > first.length;
  const stop = (each: readonly Moved[], cause: Cause, above: readonly Statement[]) =>
    stopAgents(
      deps,
      { principals: each.map(({ principal }) => principal), statements: above, more },
      cause,
      found,
      now,
    );
  const after = moved.map(({ principal }) => principal);
  if (ended.length === 0) return { first: after, ...stop(standing, act.cause, statements) };
  const ends = stop(ended, ATTESTATION_END, statements);
  if (standing.length === 0) return { first: after, ...ends };
  // One run continues all cascades, because they begin at one instant.
  const { statements: others, rest } = stop(standing, act.cause, []);
  return { first: after, statements: [...ends.statements, ...others], rest };
}

const ATTESTATION_EXPIRED_ACTION = "principal.attestation_expired";

/** An unrecorded end comes before a stop, but neither before an act that sets the attestation's state itself nor before a reactivation. */
const recordsEndFirst = ({ set, cause }: GroupAct): boolean =>
  cause.trigger === "principal_stops" && set.attestationStop === undefined;

type Moved = { readonly principal: PrincipalRow; readonly reports: readonly PrincipalReport[] };

/** Computes a principal after the act, like the statement for the whole group, and its reports. */
function movePrincipal(
  { set, note, action, cause }: GroupAct,
  before: PrincipalRow,
  isEnded: boolean,
  now: number,
): Moved {
  const stops = { attestationStop: toAttestationStop(before, now), ...set };
  const principal: PrincipalRow = {
    ...before,
    ...stops,
    status: toStoredStatus({ ...before, ...stops }),
    ...(note !== undefined && { statusNote: note }),
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
  const from = isEnded ? "ATTESTATION_EXPIRED" : before.status;
  const end: PrincipalReport = {
    action: ATTESTATION_EXPIRED_ACTION,
    actor: ATTESTATION_END.actor,
    at: now,
    changes: { status: { from: before.status, to: from } },
  };
  const report: PrincipalReport = {
    action,
    actor: cause.actor,
    at: now,
    changes: {
      status: { from, to: principal.status },
      ...(typeof note === "string" && { reason: { from: before.statusNote, to: note } }),
    },
  };
  return { principal, reports: [...(isEnded ? [end] : []), report] };
}
