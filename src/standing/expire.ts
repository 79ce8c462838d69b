// Records the end of attestations (PRN-12, PRN-13): the principal becomes ATTESTATION_EXPIRED, and its running agents SUSPENDED. Every
// reading computes the same before it is recorded.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { move } from "../core/machine.ts";
import { readBatch } from "../db/batch.ts";
import type { CascadeRow, PrincipalRow } from "../db/tables/principals.ts";
import type { EachJob } from "../jobs/job.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { findEndedAttestations } from "../principals/due-store.ts";
import { principalMachine } from "../principals/states.ts";
import { changePrincipal, findPrincipalById } from "../principals/store.ts";
import { toPrincipalView } from "../principals/views.ts";
import { CASCADES_AT_ONCE, type Cascading, stopAgents } from "./cascades.ts";
import { settleReports } from "./reports.ts";
import type { Cause } from "./slice.ts";
import { findCascade } from "./store.ts";
import { type FoundOfPrincipals, stopReads } from "./subjects.ts";

const CAUSE: Cause = {
  trigger: "principal_stops",
  reason: "attestation",
  actor: { type: "system", id: "attestation_expiry" },
};

/** Of a thousand ends at one instant, ten in three seconds. */
const SPREAD_SECONDS = 300;

export const endAttestations: EachJob = {
  kind: "each",
  name: "end_attestations",
  part: CASCADES_AT_ONCE,
  // Every reading computes the end before it is recorded.
  spreadSeconds: SPREAD_SECONDS,
  find: async ({ db, clock }, after, limit) => {
    const { due } = await readBatch(db, { due: findEndedAttestations(db, clock.now(), after ?? FIRST, limit) });
    return due;
  },
  record: endAttestation,
};

/** Records the end of one principal's attestation. Returns false when it was recorded before, or the attestation was renewed. */
async function endAttestation(deps: Deps, principalId: string): Promise<boolean> {
  const { db } = deps;
  const now = deps.clock.now();
  const {
    principal: before,
    cascade,
    ...found
  } = await readBatch(db, {
    principal: findPrincipalById(db, principalId),
    cascade: findCascade(db, principalId),
    ...stopReads(db, principalId, CAUSE.trigger),
  });
  if (!before || !endsUnrecorded(before, now)) return false;
  const stopping = attestationEnds(deps, before, { ...found, cascade }, now);
  await commitAll(deps, stopping.statements);
  // A message has room for one slice of each of its principals.
  await stopping.rest(0);
  return true;
}

/** True of an end that no job has recorded yet. */
export const endsUnrecorded = ({ status, attestationExpiresAt, accountStopped }: PrincipalRow, now: number): boolean =>
  // The closing of its account ends it (ACC-27).
  status === "ACTIVE" && attestationExpiresAt <= now && accountStopped !== "CLOSED";

/** Records the end of a principal's attestation, with the first slice of its agents; `after` is the principal then. */
export function attestationEnds(
  deps: Deps,
  before: PrincipalRow,
  { cascade, ...found }: FoundOfPrincipals & { readonly cascade: CascadeRow | null },
  now: number,
): Cascading & { readonly after: PrincipalRow } {
  const { db } = deps;
  const { principalId } = before;
  const ended = move(principalMachine, before.status, "attestation_ends");
  const updatedAt = Math.max(now, before.updatedAt + 1);
  const after: PrincipalRow = { ...before, status: ended.to, attestationStop: "attestation_expired", updatedAt };
  const statements = [
    ...settleReports(db, [{ principal: before, cascade }], now),
    ...changePrincipal(db, before, after),
    recordActivity(db, before, now, {
      action: "principal.attestation_expired",
      actor: CAUSE.actor,
      subject: { type: "principal", id: principalId },
      changes: { status: { from: ended.from, to: ended.to } },
    }),
    recordEvent(db, before, now, { type: "principal.status_changed", object: toPrincipalView(after, now) }),
  ];
  return { after, ...stopAgents(deps, { principals: [after], statements }, CAUSE, found, now) };
}
