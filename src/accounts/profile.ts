// The profile of an account as it is shown (ACC-1, ACC-3, ACC-7), with the identity that it proposes (ACC-30), the identity that a review
// approved (ACC-18), and what its next state requires.
import { type ManagementCall, type ManagementCaller, type OperatorCall, readPage } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, toPage } from "../core/page.ts";
import { computeShortHash } from "../core/seal.ts";
import { type Actor, type PlatformStatus, REQUIRED_DOCUMENTS } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { Owner } from "../db/statement.ts";
import type { PendingProfile, PlatformRow, ReviewedProfile } from "../db/tables/accounts.ts";
import { recordActivity } from "../journal/activity.ts";
import { raiseAlert } from "../journal/alerts.ts";
import type { ProfilePatch } from "./schema.ts";
import { findPlatform, type ListedPlatform, listPlatforms } from "./store.ts";

export async function getPlatform(call: ManagementCall) {
  const { platform } = await call.read({ platform: findPlatform(call.db, call.tenant.platformId) });
  if (!platform) throw new ServiceError("invalid_credentials");
  return { ...toPlatformView(platform), environment: call.environment };
}

type PlatformQuery = { limit: number; cursor?: string | undefined; status?: PlatformStatus | undefined };

export async function getPlatforms(call: OperatorCall, query: PlatformQuery) {
  const page = await readPage(call, query, hashListing("platforms", [], { status: query.status }));
  const { rows } = await call.read({ rows: listPlatforms(call.db, query.status, page) });
  return toPage(rows, page, (row) => ({ at: row.createdAt, id: row.platformId }), toPlatformView);
}

export function toPlatformView(platform: ListedPlatform) {
  return {
    platform_id: platform.platformId,
    platform_status: platform.status,
    legal_name: platform.legalName,
    trading_name: platform.tradingName,
    country: platform.country,
    email: platform.email,
    admin_contact_email: platform.adminContactEmail,
    pending_admin_contact_email: platform.pendingContactEmail,
    registration_number: platform.registrationNumber,
    registered_address: platform.registeredAddress,
    website: platform.website,
    pending_profile: toProposalView(platform.pendingProfile),
    requirements: toRequirements(platform),
    accreditation_tier: platform.accreditationTier,
    tenant_principal_id: platform.tenantPrincipalId,
    promoted_at: toIsoOrNull(platform.promotedAt),
    promotion_by: platform.promotionBy,
    created_at: toIso(platform.createdAt),
  };
}

/** For the operator: the account with its last review. */
export const toReviewView = (platform: ListedPlatform) => ({
  ...toPlatformView(platform),
  review: {
    submitted_at: toIsoOrNull(platform.submittedAt),
    decision: platform.decision,
    reason: platform.decisionReason,
    decided_at: toIsoOrNull(platform.decidedAt),
    reviewed: platform.reviewed,
  },
});

// ---- The proposed identity (ACC-30) --------------------------------------------------------------------------------------

/** The columns of the proposed members, by their names on the wire. */
export const IDENTITY = {
  legal_name: "legalName",
  country: "country",
  registration_number: "registrationNumber",
} as const;
type IdentityMember = keyof typeof IDENTITY;
export const IDENTITY_MEMBERS = Object.keys(IDENTITY) as readonly IdentityMember[];

const SUBMITTED_STATUSES: ReadonlySet<PlatformStatus> = new Set(["IN_REVIEW", "ACCREDITED"]);

/**
 * From the submission on, documents are signed under the name, the country and the registration number that an operator has seen, so a person
 * proposes new ones, and an operator decides.
 */
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

export const toProposalView = (pending: PendingProfile | null) =>
  pending && { ...pending, proposed_at: toIso(pending.proposed_at) };

// ---- The reviewed identity (ACC-18) --------------------------------------------------------------------------------------

type Profile = Pick<PlatformRow, "legalName" | "country" | "registrationNumber" | "registeredAddress">;

export const toReviewedProfile = ({
  legalName,
  country,
  registrationNumber,
  registeredAddress,
}: Profile): ReviewedProfile => ({
  legal_name: legalName,
  country,
  registration_number: registrationNumber,
  registered_address: registeredAddress,
});

/**
 * The alert of a changed identity during or after a review: one for each new identity. It only names the members, because their values are personal.
 */
export function alertChangedIdentity(db: Database, before: PlatformRow, after: PlatformRow): Statement[] {
  const { status, reviewed, platformId } = before;
  if (reviewed === null || (status !== "IN_REVIEW" && status !== "ACCREDITED")) return [];
  const [was, is] = [toReviewedProfile(before), toReviewedProfile(after)];
  const changed = findChangedMembers(reviewed, is);
  if (changed.length === 0 || findChangedMembers(was, is).length === 0) return [];
  const message = `The account changed since its review: ${changed.join(", ")}. GET /v1/operator/platforms/${platformId} shows both.`;
  return [
    raiseAlert(db, {
      kind: "account_renamed",
      subject: `${platformId} #${computeShortHash(JSON.stringify(is))}`,
      message,
    }),
  ];
}

const findChangedMembers = (one: ReviewedProfile, other: ReviewedProfile): string[] =>
  Object.keys(one).filter((name) => {
    const member = name as keyof ReviewedProfile;
    return JSON.stringify(one[member]) !== JSON.stringify(other[member]);
  });

/** The ids of the current documents by their types. */
export const pickCurrentDocuments = ({ documents }: PlatformRow): Record<string, unknown> => {
  const { day: _day, submitted: _submitted, ...current } = documents;
  return current;
};

// ---- The requirements of the next state (ACC-3, ACC-18) ------------------------------------------------------------------

export type Progress = Pick<
  PlatformRow,
  | "status"
  | "legalName"
  | "registrationNumber"
  | "country"
  | "registeredAddress"
  | "adminContactEmail"
  | "documents"
  | "decision"
  | "decisionReason"
>;

export type Requirements = {
  readonly currently_due: readonly string[];
  readonly pending_verification: readonly string[];
  readonly errors: readonly { readonly requirement: string; readonly code: string; readonly reason: string }[];
};

/** The next acts of the caller, by the state of the account. The other states wait for nothing, or for others. */
const DUE_BY_STATUS: Readonly<Partial<Record<PlatformStatus, (platform: Progress) => readonly string[]>>> = {
  EMAIL_PENDING: () => ["email_verification"],
  PROFILE_PENDING: findMissingProfile,
  KYB_PENDING: (platform) => pickMissingOrNext(findMissingDocuments(platform), "verification_submission"),
};

function toRequirements(platform: Progress): Requirements {
  const { status, decision, decisionReason } = platform;
  const rejected = status === "KYB_PENDING" && decision === "reject";
  return {
    currently_due: DUE_BY_STATUS[status]?.(platform) ?? [],
    pending_verification: status === "IN_REVIEW" ? REQUIRED_DOCUMENTS : [],
    errors: rejected
      ? [{ requirement: "verification", code: "verification_rejected", reason: decisionReason ?? "" }]
      : [],
  };
}

const PROFILE: readonly (readonly [member: string, value: (platform: Progress) => unknown])[] = [
  ["legal_name", ({ legalName }) => legalName],
  ["registration_number", ({ registrationNumber }) => registrationNumber],
  ["country", ({ country }) => country],
  ["registered_address", ({ registeredAddress }) => registeredAddress],
  ["admin_contact_email", ({ adminContactEmail }) => adminContactEmail],
];

/** The required members of the profile that are missing, with the address as one member. */
export function findMissingProfile(platform: Progress): string[] {
  return PROFILE.filter(([, value]) => value(platform) === null).map(([member]) => member);
}

export const findMissingDocuments = ({ documents }: Pick<Progress, "documents">): string[] =>
  REQUIRED_DOCUMENTS.filter((type) => documents[type] === undefined);

const pickMissingOrNext = (missing: readonly string[], next: string): readonly string[] =>
  missing.length > 0 ? missing : [next];
