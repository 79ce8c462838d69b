// The operator's decision on the name, country or registration number that an account proposes (ACC-30). An approval changes signed content.
import type { OperatorCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import type { PendingProfile, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { recordNotice } from "../journal/notices.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { buildFollowReads, followProfile } from "./follow-profile.ts";
import { findCurrentKeys } from "./key-store.ts";
import { toPlatformView, toReviewView } from "./profile.ts";
import { IDENTITY, IDENTITY_MEMBERS, toProposalView } from "./propose-profile.ts";
import type { DecisionInput } from "./review-schema.ts";
import { toReviewedProfile } from "./reviewed.ts";
import { updatePlatform } from "./store.ts";

export async function decideProfile(call: OperatorCall<PlatformRow>, platformId: string, input: DecisionInput) {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  const { decision, reason = null } = input;
  const {
    object: before,
    keys,
    ...found
  } = await call.read({
    keys: findCurrentKeys(db, platformId),
    ...buildFollowReads(deps, platformId, true),
  });
  const proposal = requireProposal(before, input);
  const approved = decision === "approve" ? toApprovedProfile(before, proposal) : { set: {}, changes: {} };
  const set = { ...approved.set, pendingProfile: null };
  const after: PlatformRow = { ...before, ...set };
  const tenant = await followProfile(deps, before, after, { ...found, actor }, now);
  const subject = { type: "platform", id: platformId };
  const view = toReviewView(after);
  const told = decision === "approve" ? { decision, reason } : { decision, reason: reason ?? "" };
  await call.commit(
    [
      ...updatePlatform(db, before, set, now),
      ...tenant.statements,
      recordActivity(db, { platformId, environment: "sandbox" }, now, {
        action: "account.profile_decided",
        actor,
        subject,
        changes: { ...approved.changes, pending_profile: { from: toProposalView(proposal), to: null } },
      }),
      recordOperatorEntry(db, actor, now, {
        action: "platform.profile_decided",
        subject,
        platformId,
        detail: { decision, ...(reason !== null && { reason }), proposal: toProposalView(proposal) },
      }),
      ...keys.map(({ environment }) =>
        recordEvent(db, { platformId, environment }, now, {
          type: "platform.profile_decided",
          object: { ...toPlatformView(after), environment },
        }),
      ),
      recordNotice(db, after, now, { kind: "customer.profile_decided", data: told }),
    ],
    view,
  );
  call.background(tenant.rest());
  return view;
}

/** A proposal may be replaced while an operator looks at it: a decision with `proposed_at` counts for that proposal only. */
function requireProposal({ status, pendingProfile }: PlatformRow, { proposed_at }: DecisionInput): PendingProfile {
  if (pendingProfile === null || status === "CLOSED") {
    throw new ServiceError("invalid_status", { message: "The account has not proposed a profile change." });
  }
  if (proposed_at !== undefined && proposed_at !== pendingProfile.proposed_at) {
    const message = `The account has made a newer proposal, at ${toIso(pendingProfile.proposed_at)}.`;
    throw new ServiceError("invalid_status", { message });
  }
  return pendingProfile;
}

/** The members that the approval changes, and the newly approved profile. */
function toApprovedProfile(before: PlatformRow, proposal: PendingProfile) {
  const proposed = IDENTITY_MEMBERS.filter((member) => proposal[member] !== undefined);
  const members: Partial<PlatformRow> = Object.fromEntries(
    proposed.map((member) => [IDENTITY[member], proposal[member]]),
  );
  const changes: Changes = Object.fromEntries(
    proposed.map((member) => [member, { from: before[IDENTITY[member]], to: proposal[member] }]),
  );
  return { set: { ...members, reviewed: toReviewedProfile({ ...before, ...members }) }, changes };
}
