// Specification 2.2: the platform account as its own key sees it.
import type { ManagementCall } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { findPlatform } from "./store.ts";

export async function getPlatform(call: ManagementCall) {
  const { platform } = await call.read({ platform: findPlatform(call.db, call.scope.platformId) });
  if (!platform) throw new ServiceError("invalid_credentials");
  return {
    platform_id: platform.platformId,
    platform_status: platform.status,
    legal_name: platform.legalName,
    trading_name: platform.tradingName,
    country: platform.country,
    email: platform.email,
    admin_contact_email: platform.adminContactEmail,
    accreditation_tier: platform.accreditationTier,
    tenant_principal_id: platform.tenantPrincipalId,
    environment: call.environment,
    promoted_at: toIsoOrNull(platform.promotedAt),
    created_at: toIso(platform.createdAt),
  };
}
