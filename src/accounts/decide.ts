// The operator's decisions: on an account in review (ACC-21), and on the name, country or registration number that an account proposes (ACC-30).
// If two decisions race, one counts.
import type { OperatorCall } from "../call.ts";
import type { Attested } from "../cascades/attest.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { move } from "../core/machine.ts";
import type { Actor, Tier } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PendingProfile, PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordNotice } from "../journal/alerts.ts";
import { recordEvent } from "../journal/events.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { findCurrentKeys } from "./key-store.ts";
import { buildFollowReads, followProfile } from "./patch-profile.ts";
import {
  IDENTITY,
  IDENTITY_MEMBERS,
  pickCurrentDocuments,
  toPlatformView,
  toProposalView,
  toReviewedProfile,
  toReviewView,
} from "./profile.ts";
import type { DecisionInput } from "./schema.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, updatePlatform } from "./store.ts";
import { attestTenant, buildTenantReads, computeMaxExpiry } from "./submit.ts";

const DEFAULT_TIER: Tier = "TIER_2";

export const findNamedAccount = ({ db }: OperatorCall, { platform_id }: { platform_id: string }) =>
  findPlatform(db, platform_id);

export const getReview = async (call: OperatorCall<PlatformRow>) => toReviewView((await call.read({})).object);

// ---- An account in review ------------------------------------------------------------------------------------------------

export async function decideVerification(call: OperatorCall<PlatformRow>, platformId: string, input: DecisionInput) {
  const { db, deps, actor } = call;
  const now = deps.clock.now();
  const { decision, reason = null } = input;
  const found = await call.read({
    keys: findCurrentKeys(db, platformId),
    ...buildTenantReads(deps, platformId),
  });
  const { object: before, keys } = found;
  const moved = move(platformMachine, before.status, decision);
  const tier = decision === "approve" ? (input.accreditation_tier ?? DEFAULT_TIER) : before.accreditationTier;
  const reviewed = decision === "approve" ? toReviewedProfile(before) : before.reviewed;
  // A rejection makes the profile freely editable again, so it ends a pending proposal.
  const pendingProfile = decision === "approve" ? before.pendingProfile : null;
  const set = { decision, decisionReason: reason, decidedAt: now, accreditationTier: tier, reviewed, pendingProfile };
  const after: PlatformRow = { ...before, ...set, status: moved.to };
  const by = { tier, expiresAt: computeMaxExpiry(now), actor, entry: false };
  const attested = decision === "approve" ? await attestTenant(deps, found, by, now) : null;
  const changes = {
    platform_status: { from: moved.from, to: moved.to },
    ...(tier !== before.accreditationTier && { accreditation_tier: { from: before.accreditationTier, to: tier } }),
    ...(pendingProfile !== before.pendingProfile && {
      pending_profile: { from: toProposalView(before.pendingProfile), to: null },
    }),
    ...toPrincipalChanges(attested),
  };
  const view = toReviewView(after);
  await call.commit(
    [
      ...updatePlatform(db, before, set, now, moved),
      ...(attested?.statements ?? []),
      ...recordDecision(db, after, { actor, changes, now }),
      ...keys.map(({ environment }) =>
        recordEvent(db, { platformId, environment }, now, {
          type: "platform.verification_decided",
          object: { ...toPlatformView(after), environment },
        }),
      ),
    ],
    view,
  );
  if (attested) call.background(attested.rest());
  return view;
}

/** The changes of the tenant principal, for the account's entry. */
function toPrincipalChanges(attested: Attested | null): Changes {
  if (attested === null) return {};
  const { status, ...changes } = attested.changes;
  return { ...changes, ...(status && { principal_status: status }) };
}

type DecisionRecord = { readonly actor: Actor; readonly changes: Changes; readonly now: number };

function recordDecision(db: Database, after: PlatformRow, { actor, changes, now }: DecisionRecord): Statement[] {
  const { platformId, decision, decisionReason, accreditationTier } = after;
  const subject = { type: "platform", id: platformId };
  const detail = {
    decision,
    ...(decision === "approve" && { accreditation_tier: accreditationTier }),
    ...(decisionReason !== null && { reason: decisionReason }),
  };
  return [
    recordActivity(db, { platformId, environment: "sandbox" }, now, {
      action: "account.verification_decided",
      actor,
      subject,
      changes,
    }),
    recordOperatorEntry(db, actor, now, {
      action: "platform.verification_decided",
      subject,
      platformId,
      // Lists the judged documents, because later ones may supersede them.
      detail: { ...detail, documents: pickCurrentDocuments(after) },
    }),
    recordNotice(db, after, now, {
      kind: "customer.verification_decided",
      data:
        decision === "reject"
          ? { decision, reason: decisionReason ?? "" }
          : { decision: "approve", accreditationTier, reason: decisionReason },
    }),
  ];
}

// ---- A proposed identity -------------------------------------------------------------------------------------------------

/** An approval changes signed content. */
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
