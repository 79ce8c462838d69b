// Reads the platform account, and the operator's list of accounts (ACC-1, ACC-3, ACC-7).
import { askedPage, type ManagementCall, type OperatorCall } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { listingOf, toPage } from "../core/page.ts";
import { type PlatformStatus, REQUIRED_DOCUMENTS } from "../core/vocabulary.ts";
import { findPlatform, type ListedPlatform, listPlatforms } from "./store.ts";

export async function getPlatform(call: ManagementCall) {
  const { platform } = await call.read({ platform: findPlatform(call.db, call.tenant.platformId) });
  if (!platform) throw new ServiceError("invalid_credentials");
  return { ...toPlatformView(platform), environment: call.environment };
}

export type PlatformQuery = { limit: number; cursor?: string | undefined; status?: PlatformStatus | undefined };

export async function getPlatforms(call: OperatorCall, query: PlatformQuery) {
  const page = await askedPage(call, query, listingOf("platforms", [], { status: query.status }));
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
    registration_number: platform.registrationNumber,
    registered_address: platform.registeredAddress,
    website: platform.website,
    requirements: requirementsOf(platform),
    accreditation_tier: platform.accreditationTier,
    tenant_principal_id: platform.tenantPrincipalId,
    promoted_at: toIsoOrNull(platform.promotedAt),
    created_at: toIso(platform.createdAt),
  };
}

/** The conditions of the next state (ACC-3). */
export function requirementsOf(platform: ListedPlatform) {
  const { status } = platform;
  const currently_due =
    status === "EMAIL_PENDING"
      ? ["email_verification"]
      : status === "PROFILE_PENDING"
        ? missingProfile(platform)
        : status === "KYB_PENDING"
          ? [...REQUIRED_DOCUMENTS]
          : [];
  return { currently_due, pending_verification: status === "IN_REVIEW" ? [...REQUIRED_DOCUMENTS] : [], errors: [] };
}

const PROFILE = [
  ["legal_name", (platform: ListedPlatform) => platform.legalName],
  ["registration_number", (platform: ListedPlatform) => platform.registrationNumber],
  ["country", (platform: ListedPlatform) => platform.country],
  ["registered_address", (platform: ListedPlatform) => platform.registeredAddress],
  ["admin_contact_email", (platform: ListedPlatform) => platform.adminContactEmail],
] as const;

const missingProfile = (platform: ListedPlatform): string[] =>
  PROFILE.filter(([, value]) => !value(platform)).map(([name]) => name);
