// Records the end of attestations (PRN-12, PRN-13): the principal becomes ATTESTATION_EXPIRED, and its running agents SUSPENDED. Every
// reading computes the same before it is recorded.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { move } from "../core/machine.ts";
import { readBatch } from "../db/batch.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { EachJob } from "../jobs/job.ts";
import { recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { principalMachine } from "../principals/states.ts";
import { findEndedAttestations, findPrincipalById, movePrincipal } from "../principals/store.ts";
import { toPrincipalView } from "../principals/views.ts";
import { CASCADES_AT_ONCE, stopAgents } from "./cascades.ts";
import type { Cause } from "./slice.ts";
import { stopReads } from "./subjects.ts";

const CAUSE: Cause = {
  trigger: "principal_stops",
  reason: "attestation",
  actor: { type: "system", id: "attestation_expiry" },
};

export const endAttestations: EachJob = {
  kind: "each",
  name: "end_attestations",
  part: CASCADES_AT_ONCE,
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
  const { principal: before, ...found } = await readBatch(db, {
    principal: findPrincipalById(db, principalId),
    ...stopReads(db, principalId, CAUSE.trigger),
  });
  if (before?.status !== "ACTIVE" || before.attestationExpiresAt > now) return false;
  // The closing of its account ends it (ACC-27).
  if (before.accountStopped === "CLOSED") return false;
  const ended = move(principalMachine, before.status, "attestation_ends");
  const after: PrincipalRow = { ...before, status: ended.to, statusReason: "attestation_expired", updatedAt: now };
  const statements = [
    ...movePrincipal(db, before, ended, after),
    recordActivity(db, before, now, {
      action: "principal.attestation_expired",
      actor: CAUSE.actor,
      subject: { type: "principal", id: principalId },
      changes: { status: { from: ended.from, to: ended.to } },
    }),
    recordEvent(db, before, now, { type: "principal.status_changed", object: toPrincipalView(after, now) }),
  ];
  const stopping = stopAgents(deps, { principal: after, statements }, CAUSE, found, now);
  await commitAll(deps, stopping.statements);
  await stopping.rest();
  return true;
}
