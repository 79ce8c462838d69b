// Announces the end of attestations, 30, 7 and 1 days before (PRN-26): an event, and a notice to the account. The notice and the instant of the next
// one are one guarded batch, so that each is given once, also by two simultaneous runs.
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/due.ts";
import { readBatch, type Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { EachJob } from "../jobs/job.ts";
import { recordEvent } from "../journal/events.ts";
import { recordNotice } from "../journal/notices.ts";
import { findDueNotices, selectPrincipalPlatform } from "../principals/due-store.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { computeNextNotice, type NoticeDays, pickDueNotice } from "../principals/notices.ts";
import { findPrincipalById, moveNotice } from "../principals/store.ts";
import { toPrincipalView } from "../principals/views.ts";
import { findPlatform } from "./store.ts";

export const notifyExpiring: EachJob = {
  kind: "each",
  name: "notify_expiring",
  find: async ({ db, clock }, after, limit) => {
    const { due } = await readBatch(db, { due: findDueNotices(db, clock.now(), after ?? BEFORE_FIRST_DUE, limit) });
    return due;
  },
  record: notifyPrincipal,
};

/** Returns false when the notice was given before, or another one is due later. */
async function notifyPrincipal(deps: Deps, principalId: string): Promise<boolean> {
  const { db } = deps;
  const { principal, platform } = await readBatch(db, {
    principal: findPrincipalById(db, principalId),
    platform: findPlatform(db, selectPrincipalPlatform(principalId)),
  });
  if (!principal || !platform || principal.expiryNoticeAt === null) return false;
  // By the clock that rules its attestation (ACC-9).
  const now = deps.clock.now() + (principal.environment === "sandbox" ? platform.clockOffsetMs : 0);
  if (principal.expiryNoticeAt > now) return false;
  const { attestationExpiresAt } = principal;
  const ahead = hasEndAhead(principal, now);
  const days = ahead ? pickDueNotice(attestationExpiresAt, now) : null;
  await commitAll(deps, [
    ...moveNotice(db, principal, ahead ? computeNextNotice(attestationExpiresAt, now) : null),
    ...(days === null ? [] : recordExpiryNotice(deps, principal, platform, days, now)),
  ]);
  return true;
}

/** A closed principal gets no notice, and neither does a revoked attestation. */
const hasEndAhead = (principal: PrincipalRow, now: number): boolean =>
  principal.attestationStop === null && toEffectivePrincipalStatus(principal, now) !== "CLOSED";

function recordExpiryNotice(
  { db }: Deps,
  principal: PrincipalRow,
  platform: PlatformRow,
  days: NoticeDays,
  now: number,
): Statement[] {
  const { principalId, legalName, attestationExpiresAt: expiresAt } = principal;
  const object = { ...toPrincipalView(principal, now), notice_days: days };
  return [
    recordEvent(db, principal, now, { type: "principal.attestation_expiring", object }),
    recordNotice(db, platform, now, {
      kind: "customer.attestation_expiring",
      data: { ends: [{ principalId, principalName: legalName, expiresAt, days }] },
    }),
  ];
}
