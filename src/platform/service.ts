// Specification 2.2: the platform account as its own key sees it.
import type { ManagementCall, OperatorCall } from "../call.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { decodeCursor, toPage } from "../core/page.ts";
import { readBatch } from "../db/batch.ts";
import { findPlatform, listPlatforms, type PlatformRow } from "./store.ts";

export async function getPlatform(call: ManagementCall) {
  const { platform } = await call.read({ platform: findPlatform(call.db, call.scope.platformId) });
  if (!platform) throw new ServiceError("invalid_credentials");
  return { ...toPlatformView(platform), environment: call.environment };
}

export type PlatformQuery = { limit: number; cursor?: string | undefined; status?: string | undefined };

export async function getPlatforms(call: OperatorCall, query: PlatformQuery) {
  const afterId = query.cursor === undefined ? null : decodeCursor(query.cursor).id;
  const page = { limit: query.limit, afterId };
  const { rows } = await readBatch(call.db, { rows: listPlatforms(call.db, query.status, page) });
  return toPage(rows, query.limit, (row) => ({ at: row.createdAt, id: row.platformId }), toPlatformView);
}

function toPlatformView(platform: PlatformRow) {
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
    promoted_at: toIsoOrNull(platform.promotedAt),
    created_at: toIso(platform.createdAt),
  };
}
