// Records the end of attestations (PRN-12, PRN-13): the principal becomes ATTESTATION_EXPIRED, and its active agents SUSPENDED. Every reading
// computes these statuses before they are recorded.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { move } from "../core/machine.ts";
import { type Database, readBatch, type Statement } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { CascadeRow } from "../db/tables/walks.ts";
import type { EachJob } from "../jobs/job.ts";
import { findWalk } from "../jobs/walk-store.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { findEndedAttestations } from "../principals/find-store.ts";
import { toEventPrincipal } from "../principals/read.ts";
import { principalMachine } from "../principals/states.ts";
import { changePrincipal, findPrincipalById } from "../principals/store.ts";
import { CASCADES_AT_ONCE, type Cascading, stopAgents } from "./cascades.ts";
import { settleReports } from "./reports.ts";
import type { Cause } from "./slice.ts";
import { type FoundOfPrincipals, findAgentsToStop } from "./subjects.ts";

export const ATTESTATION_END: Cause = {
  trigger: "principal_stops",
  reason: "attestation",
  actor: { type: "system", id: "attestation_expiry" },
};

/** A thousand ends at one instant are recorded at ten in three seconds. */
const SPREAD_SECONDS = 300;

export const endAttestations: EachJob = {
  kind: "each",
  name: "end_attestations",
  part: CASCADES_AT_ONCE,
  // Readings compute the end before it is recorded, so a delay does no harm.
  spreadSeconds: SPREAD_SECONDS,
  find: async ({ db, clock }, after, limit) => {
    const { due } = await readBatch(db, {
      due: findEndedAttestations(db, clock.now(), after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: (deps, principalId) => endAttestation(deps, principalId, deps.clock.now()),
};

/**
 * Records the end of one principal's attestation as of `now`, which in a sandbox may be ahead of real time (ACC-9). Returns false if the end was
 * recorded before, or the attestation was renewed.
 */
export async function endAttestation(deps: Deps, principalId: string, now: number): Promise<boolean> {
  const { db } = deps;
  const {
    principal: before,
    cascade,
    ...found
  } = await readBatch(db, {
    principal: findPrincipalById(db, principalId),
    cascade: findWalk(db, "cascade", principalId),
    ...findAgentsToStop(deps, principalId, ATTESTATION_END.trigger),
  });
  if (!before || !isEndUnrecorded(before, now)) return false;
  const stopping = expireWithAgents(deps, before, { ...found, cascade }, now);
  await commitAll(deps, stopping.statements);
  // A message of the job has room for one slice of each of its principals.
  await stopping.rest(0);
  return true;
}

export const isEndUnrecorded = ({ status, attestationExpiresAt, accountStopped }: PrincipalRow, now: number): boolean =>
  // After the closing of its account a principal is CLOSED (ACC-27).
  status === "ACTIVE" && attestationExpiresAt <= now && accountStopped !== "CLOSED";

/** Records the end of a principal's attestation with the first slice of its agents. `after`: the principal after the end. */
export function expireWithAgents(
  deps: Deps,
  before: PrincipalRow,
  { cascade, ...found }: FoundOfPrincipals & { readonly cascade: CascadeRow | null },
  now: number,
): Cascading & { readonly after: PrincipalRow } {
  const { after, statements } = expirePrincipal(deps.db, before, cascade, now);
  return { after, ...stopAgents(deps, { principals: [after], statements }, ATTESTATION_END, found, now) };
}

/** Expires the principal only; the caller's batch suspends its agents. */
export function expirePrincipal(
  db: Database,
  before: PrincipalRow,
  cascade: CascadeRow | null,
  now: number,
): { readonly after: PrincipalRow; readonly statements: Statement[] } {
  const ended = move(principalMachine, before.status, "attestation_ends");
  const updatedAt = Math.max(now, before.updatedAt + 1);
  const after: PrincipalRow = { ...before, status: ended.to, attestationStop: "attestation_expired", updatedAt };
  const statements = [
    ...settleReports(db, [{ principal: before, cascade }], now),
    ...changePrincipal(db, before, after),
    recordActivity(db, before, now, {
      action: "principal.attestation_expired",
      actor: ATTESTATION_END.actor,
      subject: { type: "principal", id: before.principalId },
      changes: { status: { from: ended.from, to: ended.to } },
    }),
    recordEvent(db, before, now, {
      type: "principal.status_changed",
      object: toEventPrincipal(after, now),
      previous: { status: ended.from },
    }),
  ];
  return { after, statements };
}
