// One act changes all principals of a group (PRN-24, PRN-25): those of a customer, or those that an attestation backs. One guarded batch changes what
// is above them and all of them, and reports the first ones with their first slice of agents. Cascades write the entries and events of the others,
// and change their agents.
import type { Deps } from "../context.ts";
import type { ActivityAction, CascadeTrigger } from "../core/vocabulary.ts";
import type { Condition, ReadResults, Statement } from "../db/batch.ts";
import type { PrincipalReport, PrincipalRow } from "../db/tables/principals.ts";
import { toAttestationStop, toStoredStatus } from "../principals/effective-status.ts";
import { findGroup, type GroupMove, groupIds, refuseChangedPrincipals } from "../principals/group-store.ts";
import { moveGroupRows } from "../principals/store.ts";
import { type Cascading, stopAgents } from "./cascades.ts";
import { ATTESTATION_END, isEndUnrecorded } from "./expire.ts";
import { recordReports } from "./reports.ts";
import { groupReactivationReads } from "./restate-agents.ts";
import type { Cause } from "./slice.ts";
import { storeReports } from "./store.ts";
import { findAgentsToStopOfPrincipals } from "./subjects.ts";

/** How many principals the batch of the act reports. */
export const FIRST_PRINCIPALS = 50;
const chooseFirstPrincipals = ({ slices }: Deps): number => slices?.principals ?? FIRST_PRINCIPALS;

/** The reads of an act on a group, besides those of what is above it. */
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
