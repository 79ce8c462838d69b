// One act moves all principals of a group (PRN-24): those of a customer. One guarded batch moves what stands above them and all of them, and
// takes the first ones and their first slice of agents with it; the others' entries, events and agents follow by their cascades.
import type { Deps } from "../context.ts";
import type { ActivityAction, CascadeTrigger } from "../core/vocabulary.ts";
import type { Condition, Database, ReadResults } from "../db/batch.ts";
import type { PrincipalReport, PrincipalRow } from "../db/tables/principals.ts";
import { findGroup, type GroupMove, groupIds, refuseChangedPrincipals } from "../principals/group-store.ts";
import { statusOf } from "../principals/standing.ts";
import { moveAll } from "../principals/store.ts";
import { begunBy, type Cascading, stopAgents } from "./cascades.ts";
import { reportStatements } from "./reports.ts";
import type { Cause } from "./slice.ts";
import { keepReports } from "./store.ts";
import { stopReadsOf } from "./subjects.ts";

/** How many principals are reported in the batch of the move. */
export const FIRST_PRINCIPALS = 50;

/** The reads of a group's move, beside those of what stands above it. */
export const groupReads = (db: Database, where: Condition, trigger: CascadeTrigger) => ({
  // One more tells whether others are left.
  principals: findGroup(db, where, FIRST_PRINCIPALS + 1),
  ...stopReadsOf(db, groupIds(where, FIRST_PRINCIPALS), trigger),
});
type Found = ReadResults<ReturnType<typeof groupReads>>;

/** What one act does to the principals of a group, how each of them reports it, and why their agents follow. */
export type GroupAct = GroupMove & { readonly action: ActivityAction; readonly cause: Cause };

/** Moves a group, behind the statements of what stands above it. */
export function moveGroup(deps: Deps, act: GroupAct, { principals, ...found }: Found, now: number): Cascading {
  const { db } = deps;
  const first = principals.slice(0, FIRST_PRINCIPALS);
  const moved = first.map((before) => movedBy(act, before, now));
  const statements = [
    refuseChangedPrincipals(db, first),
    keepReports(
      db,
      act,
      begunBy(act.cause, now),
      first.map(({ principalId }) => principalId),
    ),
    moveAll(db, act, now),
    ...reportStatements(db, moved, now),
  ];
  const after = moved.map(({ principal }) => principal);
  const more = principals.length > first.length;
  return stopAgents(deps, { principals: after, statements, more }, act.cause, found, now);
}

/** A principal after the act, as the statement of all moves it, and its report. */
function movedBy({ set, note, action, cause }: GroupAct, before: PrincipalRow, now: number) {
  const principal: PrincipalRow = {
    ...before,
    ...set,
    status: statusOf({ ...before, ...set }),
    ...(note !== undefined && { statusNote: note }),
    updatedAt: Math.max(now, before.updatedAt + 1),
  };
  const report: PrincipalReport = {
    action,
    actor: cause.actor,
    at: now,
    changes: {
      status: { from: before.status, to: principal.status },
      ...(typeof note === "string" && { reason: { from: before.statusNote, to: note } }),
    },
  };
  return { principal, reports: [report] };
}
