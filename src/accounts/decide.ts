// The operator's decision on an account in review (ACC-21). If two decisions race, one counts.
import type { OperatorCall } from "../call.ts";
import type { Attested } from "../cascades/attest.ts";
import { move } from "../core/machine.ts";
import type { Actor, Tier } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PlatformRow } from "../db/tables/accounts.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordEvent } from "../journal/events.ts";
import { recordNotice } from "../journal/notices.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { attestTenant, buildTenantReads, computeMaxExpiry } from "./attest.ts";
import { findCurrentKeys } from "./key-store.ts";
import { toPlatformView, toReviewView } from "./profile.ts";
import { toProposalView } from "./propose-profile.ts";
import type { DecisionInput } from "./review-schema.ts";
import { pickCurrentDocuments, toReviewedProfile } from "./reviewed.ts";
import { platformMachine } from "./states.ts";
import { findPlatform, updatePlatform } from "./store.ts";

const DEFAULT_TIER: Tier = "TIER_2";

export const findNamedAccount = ({ db }: OperatorCall, { platform_id }: { platform_id: string }) =>
  findPlatform(db, platform_id);

export const getReview = async (call: OperatorCall<PlatformRow>) => toReviewView((await call.read({})).object);

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

/** Records the decision in both logs and as a notice. */
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
