// The platform account on the wire (ACC-1).
import * as z from "zod";
import { PLATFORM_STATUSES, PROMOTERS } from "../core/vocabulary.ts";
import { environment, instant, listOf, pageQuery, registeredUrl, tier } from "../http/schemas.ts";

export const platformStatus = z.enum(PLATFORM_STATUSES).register(z.globalRegistry, { id: "PlatformState" });

export const promoter = z.enum(PROMOTERS).register(z.globalRegistry, { id: "Promoter" });

export const registeredAddress = z
  .object({
    line1: z.string(),
    line2: z.string().optional(),
    city: z.string(),
    region: z.string().optional(),
    postal_code: z.string(),
    country: z.string(),
  })
  .register(z.globalRegistry, { id: "RegisteredAddress" });

const requirements = z
  .object({
    currently_due: z.array(z.string()),
    pending_verification: z.array(z.string()),
    errors: z.array(
      z
        .object({ requirement: z.string(), code: z.string(), reason: z.string() })
        .register(z.globalRegistry, { id: "RequirementError" }),
    ),
  })
  .register(z.globalRegistry, { id: "Requirements" });

const pendingProfile = z
  .object({
    legal_name: z.string().optional(),
    country: z.string().optional(),
    registration_number: z.string().optional(),
    proposed_at: instant,
  })
  .register(z.globalRegistry, { id: "PendingProfile" });

export const accountMembers = {
  platform_id: z.string(),
  platform_status: platformStatus,
  legal_name: z.string().nullable(),
  trading_name: z.string().nullable(),
  country: z.string().nullable(),
  email: z.string(),
  admin_contact_email: z.string().nullable(),
  pending_admin_contact_email: z.string().nullable(),
  registration_number: z.string().nullable(),
  registered_address: registeredAddress.nullable(),
  website: registeredUrl.nullable(),
  pending_profile: pendingProfile.nullable(),
  requirements,
  accreditation_tier: tier,
  tenant_principal_id: z.string().nullable(),
  promoted_at: instant.nullable(),
  promotion_by: promoter,
  created_at: instant,
};

export const platformView = z
  .object({ ...accountMembers, environment: environment })
  .register(z.globalRegistry, { id: "Platform" });

export const platformAccount = z.object(accountMembers).register(z.globalRegistry, { id: "PlatformAccount" });

export const platformQuery = z.strictObject({ ...pageQuery, status: platformStatus.optional() });
export const platformList = listOf(platformAccount).register(z.globalRegistry, { id: "PlatformList" });
