// Reads the platform account, and the operator's list of accounts (ACC-1, ACC-3, ACC-7).
import { type ManagementCall, type OperatorCall, readPage } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, toPage } from "../core/page.ts";
import type { PlatformStatus } from "../core/vocabulary.ts";
import { toProposalView } from "./propose-profile.ts";
import { toRequirements } from "./requirements.ts";
import { findPlatform, type ListedPlatform, listPlatforms } from "./store.ts";

export async function getPlatform(call: ManagementCall) {
  const { platform } = await call.read({ platform: findPlatform(call.db, call.tenant.platformId) });
  if (!platform) throw new ServiceError("invalid_credentials");
  return { ...toPlatformView(platform), environment: call.environment };
}

export type PlatformQuery = { limit: number; cursor?: string | undefined; status?: PlatformStatus | undefined };

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
