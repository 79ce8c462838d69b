// Reports principals that changed with others (PRN-24): each gets its own entry and, if its status changed, an event. Reports that do not fit into
// the batch of the change wait in the principal's cascade: its next slice writes them, or an earlier change of the principal does.
import { ServiceError } from "../core/errors.ts";
import { PRINCIPAL_STATUSES, type PrincipalStatus } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PrincipalReport, PrincipalRow } from "../db/tables/principals.ts";
import type { CascadeRow } from "../db/tables/walks.ts";
import { recordActivities } from "../journal/activity.ts";
import { recordEvents } from "../journal/events.ts";
import type { WithReports } from "../principals/group-store.ts";
import { toEventPrincipal } from "../principals/read.ts";
import { clearReports, guardReports } from "./store.ts";

type Reported = { readonly principal: PrincipalRow; readonly reports: readonly PrincipalReport[] };

export function recordReports(db: Database, each: readonly Reported[], now: number): Statement[] {
  const rounds = Math.max(0, ...each.map(({ reports }) => reports.length));
  return Array.from({ length: rounds }, (_, round) => round).flatMap((round) => {
    const ones = each.flatMap(({ principal, reports }) => {
      const report = reports[round];
      return report ? [{ principal, report }] : [];
    });
    // The reports of one act share its action and its actor.
    const acts = Map.groupBy(ones, ({ report: { action, actor } }) => JSON.stringify([action, actor.type, actor.id]));
    return [...acts.values()].flatMap((act) => recordAct(db, act, now));
  });
}

type ReportOfPrincipal = { readonly principal: PrincipalRow; readonly report: PrincipalReport };

function recordAct(db: Database, act: readonly ReportOfPrincipal[], now: number): Statement[] {
  const [first] = act;
  if (!first) return [];
  const { action, actor } = first.report;
  const moved = act.filter(({ report: { changes } }) => changes["status"]?.from !== changes["status"]?.to);
  return [
    ...recordActivities(
      db,
      now,
      { action, actor, subjectType: "principal" },
      act.map(({ principal, report }) => ({ owner: principal, id: principal.principalId, changes: report.changes })),
    ),
    ...recordEvents(
      db,
      now,
      "principal.status_changed",
      moved.map(({ principal, report }) => ({
        owner: principal,
        object: toEventPrincipal(applyReport(report, principal), report.at),
        previous: { status: report.changes["status"]?.from },
      })),
    ),
  ];
}

/** Returns the principal in the status that one of several reports names. */
const applyReport = ({ changes }: PrincipalReport, principal: PrincipalRow): PrincipalRow => ({
  ...principal,
  status: PRINCIPAL_STATUSES.find((status) => status === changes["status"]?.to) ?? principal.status,
});

/** Writes the pending reports of earlier changes before a further change. Aborts the batch if another run has written one meanwhile. */
export function settleReports(db: Database, each: readonly WithReports[], now: number): Statement[] {
  const pending = each.flatMap(({ principal, cascade }) =>
    cascade?.report ? [{ principal, cascade, reports: cascade.report }] : [],
  );
  if (pending.length === 0) return [];
  const rows = pending.map(({ cascade }) => cascade);
  return [guardReports(db, rows), ...recordReports(db, pending, now), clearReports(db, rows)];
}

/** Refuses to make a principal ACTIVE while its agents are still being suspended, because the cascade would suspend them afterwards. */
export function refuseWhileStopping(cascade: CascadeRow | null, status: PrincipalStatus): void {
  if (cascade && cascade.trigger !== "principal_returns") throw toStillStoppingError(status);
}

/** The refusal is temporary, so it is not kept under the Idempotency-Key. */
export const toStillStoppingError = (status: PrincipalStatus): ServiceError =>
  new ServiceError("invalid_status", {
    message: "Agents are still being suspended; try again in a moment.",
    detail: { status },
    headers: { "Retry-After": "5" },
    unkept: true,
  });
