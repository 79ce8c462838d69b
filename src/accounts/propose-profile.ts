// Proposals of an account's identity (ACC-30). From its submission on, documents are signed under the name, the country and the registration number
// that an operator has seen, so a person proposes new ones, and an operator decides.
import type { ManagementCaller } from "../call.ts";
import { toIso } from "../core/clock.ts";
import type { Actor, PlatformStatus } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { PendingProfile, PlatformRow } from "../db/tables/accounts.ts";
import type { Owner } from "../db/tenant.ts";
import { recordActivity } from "../journal/activity.ts";
import { raiseAlert } from "../journal/alerts.ts";
import type { ProfilePatch } from "./profile-schema.ts";

/** The columns of the proposed members, by their names on the wire. */
export const IDENTITY = {
  legal_name: "legalName",
  country: "country",
  registration_number: "registrationNumber",
} as const;
type IdentityMember = keyof typeof IDENTITY;
export const IDENTITY_MEMBERS = Object.keys(IDENTITY) as readonly IdentityMember[];

const SUBMITTED_STATUSES: ReadonlySet<PlatformStatus> = new Set(["IN_REVIEW", "ACCREDITED"]);

/** True if a change of the member waits for a decision. */
export const needsDecision = ({ status }: PlatformRow, member: string): boolean =>
  SUBMITTED_STATUSES.has(status) && member in IDENTITY;

/** The first member by which the patch would rename a submitted account. */
export const findChangedIdentity = (platform: PlatformRow, patch: Partial<ProfilePatch>): IdentityMember | undefined =>
  IDENTITY_MEMBERS.find((member) => needsDecision(platform, member) && changesMember(platform, patch, member));

const changesMember = (platform: PlatformRow, patch: Partial<ProfilePatch>, member: IdentityMember): boolean =>
  patch[member] !== undefined && patch[member] !== platform[IDENTITY[member]];

/**
 * The proposal after a person's patch: a patch that names an identity replaces it, and one that names the signed values withdraws it. Returns the
 * same object if the proposal stays.
 */
export function applyPatchToProposal(
  { actor }: ManagementCaller,
  platform: PlatformRow,
  patch: ProfilePatch,
  now: number,
): PendingProfile | null {
  const before = platform.pendingProfile;
  const named = IDENTITY_MEMBERS.filter((member) => patch[member] !== undefined && needsDecision(platform, member));
  if (actor.type === "management_api" || named.length === 0) return before;
  const members = Object.fromEntries(
    named.filter((member) => changesMember(platform, patch, member)).map((member) => [member, patch[member]]),
  );
  if (Object.keys(members).length === 0) return null;
  if (isSameProposal(members, before)) return before;
  // A decision names the proposal by its instant, so no two proposals of an account may have the same.
  return { ...members, proposed_at: before === null ? now : Math.max(now, before.proposed_at + 1) };
}

function isSameProposal(members: Record<string, unknown>, before: PendingProfile | null): boolean {
  if (before === null) return false;
  const { proposed_at: _at, ...was } = before;
  return IDENTITY_MEMBERS.every((member) => members[member] === was[member]);
}

type ProposalContext = { readonly owner: Owner; readonly actor: Actor; readonly now: number };

/** The log entry, and the operator's alert. The alert only names the members, because their values are personal. */
export function reportProposal(
  db: Database,
  { platformId, pendingProfile: before }: PlatformRow,
  after: PendingProfile | null,
  { owner, actor, now }: ProposalContext,
): Statement[] {
  const entry = recordActivity(db, owner, now, {
    action: "account.profile_proposed",
    actor,
    subject: { type: "platform", id: platformId },
    changes: { pending_profile: { from: toProposalView(before), to: toProposalView(after) } },
  });
  if (after === null) return [entry];
  const { proposed_at: _at, ...members } = after;
  const path = `/v1/operator/platforms/${platformId}`;
  const message = `The account proposes another ${Object.keys(members).join(", ")}: see GET ${path}, and decide at POST ${path}/decision.`;
  // One for all proposals of an account: it may make any number of them, and the last one waits.
  const subject = `${platformId} proposes`;
  return [entry, raiseAlert(db, { kind: "review_waiting", subject, message })];
}

/** The proposal in the form that the account shows. */
export const toProposalView = (pending: PendingProfile | null) =>
  pending && { ...pending, proposed_at: toIso(pending.proposed_at) };
