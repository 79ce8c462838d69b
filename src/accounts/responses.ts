// Responses about platform accounts: the account itself, its keys, sessions, documents and review.
import * as z from "zod";
import { DOCUMENT_STATUSES, MEDIA_TYPES } from "../core/vocabulary.ts";
import { VOLUME_QUOTAS } from "../core/volume.ts";
import { buildListSchema } from "../http/response-parts.ts";
import { environment, instant, registeredUrl, tier } from "../http/schemas.ts";
import { announcementKind, decision, documentType, platformStatus, promoter } from "./schema.ts";

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
export const platformList = buildListSchema(platformAccount).register(z.globalRegistry, { id: "PlatformList" });

// ---- Management keys (ACC-16, ACC-17) ------------------------------------------------------------------------------------

export const issuedKey = z
  .object({ raw_key: z.string(), key_prefix: z.string(), environment, warning: z.string() })
  .register(z.globalRegistry, { id: "IssuedKey" });

export const keyView = z
  .object({
    key_id: z.string(),
    key_prefix: z.string(),
    environment,
    created_at: instant,
    expires_at: instant.nullable(),
    last_used_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "ManagementKey" });

export const keyList = buildListSchema(keyView).register(z.globalRegistry, { id: "ManagementKeyList" });

export const rotationView = z
  .object({ api_key: issuedKey, previous_key_expires_at: instant })
  .register(z.globalRegistry, { id: "KeyRotation" });

export const promotionView = z
  .object({
    environment,
    promoted_at: instant,
    live_key_issued: z.boolean(),
    api_key: issuedKey,
  })
  .register(z.globalRegistry, { id: "Promotion" });

// ---- Sessions (CRED-13, CRED-27, CRED-30) --------------------------------------------------------------------------------

export const sessionView = z
  .object({ session_token: z.string(), session_id: z.string(), expires_at: instant, platform_id: z.string() })
  .register(z.globalRegistry, { id: "Session" });

const listedSession = z
  .object({
    session_id: z.string(),
    created_at: instant,
    last_used_at: instant,
    device: z.string(),
    network: z.string(),
    current: z.boolean(),
  })
  .register(z.globalRegistry, { id: "ListedSession" });
export const sessionList = buildListSchema(listedSession).register(z.globalRegistry, { id: "SessionList" });

export const sessionConfirmationView = z
  .object({ confirmed_until: instant })
  .register(z.globalRegistry, { id: "Confirmation" });

// ---- Sign-up (ACC-10) ----------------------------------------------------------------------------------------------------

export const verifiedView = z
  .object({
    platform_id: z.string(),
    platform_status: platformStatus,
    email: z.string(),
    api_key: issuedKey.optional(),
  })
  .register(z.globalRegistry, { id: "VerifiedEmail" });

/** The answer to any request for a mail, the same for every address. */
export const askedView = z
  .object({ status: z.literal("accepted") })
  .register(z.globalRegistry, { id: "MailRequested" });

// ---- Passwords and the change of the address (CRED-22, CRED-23, ACC-13) --------------------------------------------------

export const passwordView = z
  .object({ platform_id: z.string(), changed_at: instant })
  .register(z.globalRegistry, { id: "PasswordChanged" });

// ---- TOTP (CRED-28) ------------------------------------------------------------------------------------------------------

const otpauthUri = z
  .string()
  .register(z.globalRegistry, { id: "OtpauthUri", format: "uri", pattern: "^otpauth://totp/" });

export const totpSetUpView = z
  .object({ secret: z.string(), otpauth_uri: otpauthUri, recovery_codes: z.array(z.string()) })
  .register(z.globalRegistry, { id: "TotpSetUp" });

export const totpConfirmationView = z
  .object({ confirmed_at: instant })
  .register(z.globalRegistry, { id: "TotpConfirmation" });

export const totpRemovalView = z
  .object({ platform_id: z.string(), removed_at: instant })
  .register(z.globalRegistry, { id: "TotpRemoval" });

// ---- Documents (ACC-20) --------------------------------------------------------------------------------------------------

export const documentView = z
  .object({
    document_id: z.string(),
    type: documentType,
    status: z.enum(DOCUMENT_STATUSES),
    file_name: z.string(),
    media_type: z.enum(MEDIA_TYPES),
    size_bytes: z.number().int(),
    sha256: z.string(),
    created_at: instant,
  })
  .register(z.globalRegistry, { id: "Document" });
export const documentList = buildListSchema(documentView).register(z.globalRegistry, { id: "DocumentList" });

// ---- The review of an account (ACC-21, ACC-24) ---------------------------------------------------------------------------

/** The account's identity when it was submitted, or approved. */
const reviewedProfile = z
  .object({
    legal_name: z.string().nullable(),
    country: z.string().nullable(),
    registration_number: z.string().nullable(),
    registered_address: registeredAddress.nullable(),
  })
  .register(z.globalRegistry, { id: "ReviewedProfile" });

export const reviewedAccount = z
  .object({
    ...accountMembers,
    review: z.object({
      submitted_at: instant.nullable(),
      decision: decision.nullable(),
      reason: z.string().nullable(),
      decided_at: instant.nullable(),
      reviewed: reviewedProfile.nullable(),
    }),
  })
  .register(z.globalRegistry, { id: "ReviewedAccount" });

// ---- Announcements (ACC-15) ----------------------------------------------------------------------------------------------

export const announcementView = z
  .object({
    announcement_id: z.string(),
    kind: announcementKind,
    subject: z.string(),
    text: z.string(),
    created_at: instant,
  })
  .register(z.globalRegistry, { id: "Announcement" });

// ---- The closing of an account (ACC-27) ----------------------------------------------------------------------------------

export const closingView = z
  .object({ platform_id: z.string(), platform_status: platformStatus, closed_at: instant })
  .register(z.globalRegistry, { id: "ClosedPlatform" });

// ---- The usage of an account (EVT-36) ------------------------------------------------------------------------------------

const count = z.number().int().nonnegative();

const environmentUsage = z
  .object({
    events: count,
    deliveries: count,
    event_bytes: count,
    endpoints: count,
    limits: z.object({ events: count, event_bytes: count }),
    used_up: z.enum(VOLUME_QUOTAS).nullable(),
  })
  .register(z.globalRegistry, { id: "EnvironmentUsage" });

export const accountUsage = z
  .object({
    platform_id: z.string(),
    since: instant,
    resets_at: instant,
    sandbox: environmentUsage,
    production: environmentUsage,
    rows: count,
    mails: count,
  })
  .register(z.globalRegistry, { id: "AccountUsage" });
export type AccountUsage = z.infer<typeof accountUsage>;
