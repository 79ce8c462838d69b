// Accounts on the wire (ACC-1): what their owners and the operator send.
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { isUploadedFile, type UploadedFile } from "../core/export.ts";
import {
  ANNOUNCEMENT_SUBJECT_MAX_CHARS,
  ANNOUNCEMENT_TEXT_MAX_CHARS,
  PASSWORD_MAX_CHARS,
  PASSWORD_MIN_CHARS,
  ROTATION_GRACE_HOURS_MAX,
} from "../core/limits.ts";
import { trimSpaces } from "../core/text.ts";
import {
  ANNOUNCEMENT_KINDS,
  DECISION_SUBJECTS,
  DOCUMENT_TYPES,
  PLATFORM_STATUSES,
  PROMOTERS,
  VERIFICATION_DECISIONS,
} from "../core/vocabulary.ts";
import {
  buildNameSchema,
  buildNormalizedSchema,
  buildTextSchema,
  countryInput,
  environment,
  httpUrl,
  instantInput,
  pageQuery,
  tier,
} from "../http/schemas.ts";

export const platformStatus = z.enum(PLATFORM_STATUSES).register(z.globalRegistry, { id: "PlatformState" });

export const promoter = z.enum(PROMOTERS).register(z.globalRegistry, { id: "Promoter" });

export const platformQuery = z.strictObject({ ...pageQuery, status: platformStatus.optional() });

// ---- Sign-up (ACC-10) ----------------------------------------------------------------------------------------------------

const EMAIL_MAX_CHARS = 254;

export const emailInput = z
  .string()
  .overwrite(trimSpaces)
  .max(EMAIL_MAX_CHARS, { abort: true })
  .regex(z.regexes.email, "Must be an email address.")
  .register(z.globalRegistry, { id: "EmailInput" });

/** The length limits apply to the NFKC form, which is the form that is hashed. */
export const passwordInput = buildNormalizedSchema("NFKC", PASSWORD_MAX_CHARS)
  .min(PASSWORD_MIN_CHARS, { abort: true })
  .max(PASSWORD_MAX_CHARS, { abort: true })
  .register(z.globalRegistry, { id: "PasswordInput" });

/** A presented password: the rules are only for new ones. */
const presentedPassword = buildNormalizedSchema("NFKC", PASSWORD_MAX_CHARS)
  .min(1)
  .max(PASSWORD_MAX_CHARS)
  .register(z.globalRegistry, { id: "PresentedPassword" });

export const registrationInput = z
  .strictObject({ email: emailInput, password: passwordInput, legal_name: buildNameSchema(300).optional() })
  .register(z.globalRegistry, { id: "RegistrationInput" });
export type RegistrationInput = z.infer<typeof registrationInput>;

export const linkToken = z.string().min(1).max(200);

export const tokenInput = z.strictObject({ token: linkToken }).register(z.globalRegistry, { id: "TokenInput" });
export type TokenInput = z.infer<typeof tokenInput>;

export const verificationInput = z
  .strictObject({ token: linkToken, password: presentedPassword.optional() })
  .register(z.globalRegistry, { id: "VerificationInput" });
export type VerificationInput = z.infer<typeof verificationInput>;

export const addressInput = z.strictObject({ email: emailInput }).register(z.globalRegistry, { id: "AddressInput" });

// ---- Passwords and the change of the address (CRED-22, CRED-23, ACC-13) --------------------------------------------------

export const passwordChangeInput = z
  .strictObject({ current_password: presentedPassword, new_password: passwordInput })
  .register(z.globalRegistry, { id: "PasswordChangeInput" });
export type PasswordChangeInput = z.infer<typeof passwordChangeInput>;

export const passwordResetInput = z
  .strictObject({ token: linkToken, new_password: passwordInput })
  .register(z.globalRegistry, { id: "PasswordResetInput" });
export type PasswordResetInput = z.infer<typeof passwordResetInput>;

export const emailChangeInput = z
  .strictObject({ new_email: emailInput, current_password: presentedPassword })
  .register(z.globalRegistry, { id: "EmailChangeInput" });
export type EmailChangeInput = z.infer<typeof emailChangeInput>;

// ---- TOTP (CRED-28) ------------------------------------------------------------------------------------------------------

/** A code of the app or a recovery code, grouped in any way. */
const totpInput = z.string().min(1).max(40).register(z.globalRegistry, { id: "TotpInput" });

export const totpSetUp = z
  .strictObject({ current_password: presentedPassword })
  .register(z.globalRegistry, { id: "TotpSetUpInput" });
export type TotpSetUp = z.infer<typeof totpSetUp>;

export const totpConfirmation = z
  .strictObject({ code: totpInput })
  .register(z.globalRegistry, { id: "TotpConfirmationInput" });
export type TotpConfirmation = z.infer<typeof totpConfirmation>;

export const totpRemoval = z
  .strictObject({ current_password: presentedPassword, code: totpInput })
  .register(z.globalRegistry, { id: "TotpRemovalInput" });
export type TotpRemoval = z.infer<typeof totpRemoval>;

// ---- Sessions (CRED-13, CRED-27, CRED-30) --------------------------------------------------------------------------------

export const logInInput = z
  .strictObject({ email: emailInput, password: presentedPassword, totp: totpInput.optional() })
  .register(z.globalRegistry, { id: "LogInInput" });
export type LogInInput = z.infer<typeof logInInput>;

export const sessionParams = z.object({ session_id: z.string() });
export const sessionsQuery = z.strictObject(pageQuery);
export type SessionsQuery = z.infer<typeof sessionsQuery>;
/** Required, so that a call never ends other sessions by accident. */
export const othersQuery = z.strictObject({ others: z.literal("true") });

export const confirmationInput = z
  .strictObject({ current_password: presentedPassword.optional(), totp: totpInput.optional() })
  .register(z.globalRegistry, {
    id: "ConfirmationInput",
    oneOf: ["current_password", "totp"].map((name) => ({ required: [name] })),
  });
export type ConfirmationInput = z.infer<typeof confirmationInput>;

export function findConfirmationFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const { current_password, totp } = raw as Record<string, unknown>;
  if (current_password === undefined && totp === undefined)
    return [toFieldError("current_password", "required", "Send current_password or totp.")];
  if (current_password === undefined || totp === undefined) return [];
  return [toFieldError("totp", "invalid_value", "Send current_password or totp, not both.")];
}

// ---- The profile (ACC-18) ------------------------------------------------------------------------------------------------

const line = buildNameSchema(200);

const registeredAddressInput = z
  .strictObject({
    line1: line,
    line2: line.optional(),
    city: buildNameSchema(100),
    region: buildNameSchema(100).optional(),
    postal_code: buildNameSchema(20),
    country: countryInput,
  })
  .register(z.globalRegistry, { id: "RegisteredAddressInput" });

/** The review needs some members, so only the others may be null. */
export const profilePatch = z
  .strictObject({
    legal_name: buildNameSchema(300).optional(),
    trading_name: buildNameSchema(300).nullable().optional(),
    registration_number: buildNameSchema(100).optional(),
    country: countryInput.optional(),
    registered_address: registeredAddressInput.optional(),
    website: httpUrl.nullable().optional(),
    admin_contact_email: emailInput.optional(),
    promotion_by: promoter.optional(),
  })
  .register(z.globalRegistry, { id: "ProfilePatch" });
export type ProfilePatch = z.infer<typeof profilePatch>;

// ---- Documents (ACC-20) --------------------------------------------------------------------------------------------------

export const documentType = z.enum(DOCUMENT_TYPES).register(z.globalRegistry, { id: "DocumentType" });

const file = z
  .custom<UploadedFile>(isUploadedFile, "Must be sent as a file, with its name.")
  .register(z.globalRegistry, { id: "UploadedFile", type: "string", contentMediaType: "application/octet-stream" });

export const documentInput = z
  .strictObject({ type: documentType, file })
  .register(z.globalRegistry, { id: "DocumentInput" });
export type DocumentInput = z.infer<typeof documentInput>;

export const documentQuery = z.strictObject(pageQuery);
export const documentParams = z.object({ document_id: z.string() });
export const accountParams = z.object({ platform_id: z.string() });
export const accountDocumentParams = z.object({ platform_id: z.string(), document_id: z.string() });

// ---- Management keys (ACC-16, ACC-17) ------------------------------------------------------------------------------------

export const rotationInput = z
  .strictObject({
    environment: environment.optional(),
    grace_hours: z.number().int().min(0).max(ROTATION_GRACE_HOURS_MAX).default(0),
  })
  .register(z.globalRegistry, { id: "RotationInput" });
export type RotationInput = z.infer<typeof rotationInput>;

// ---- Announcements (ACC-15) ----------------------------------------------------------------------------------------------

export const announcementKind = z.enum(ANNOUNCEMENT_KINDS).register(z.globalRegistry, { id: "AnnouncementKind" });

export const announcementInput = z
  .strictObject({
    kind: announcementKind,
    subject: buildNameSchema(ANNOUNCEMENT_SUBJECT_MAX_CHARS),
    text: buildTextSchema(ANNOUNCEMENT_TEXT_MAX_CHARS),
  })
  .register(z.globalRegistry, { id: "AnnouncementInput" });
export type AnnouncementInput = z.infer<typeof announcementInput>;

// ---- The review (ACC-21, ACC-24) -----------------------------------------------------------------------------------------

export const decision = z.enum(VERIFICATION_DECISIONS).register(z.globalRegistry, { id: "VerificationDecision" });

export const decisionInput = z
  .strictObject({
    subject: z.enum(DECISION_SUBJECTS).default("verification"),
    decision,
    accreditation_tier: tier.optional(),
    reason: buildTextSchema(2_000).optional(),
    proposed_at: instantInput.optional(),
  })
  .register(z.globalRegistry, { id: "DecisionInput" });
export type DecisionInput = z.infer<typeof decisionInput>;

/** Finds faults between the members of a decision. */
export function findDecisionFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const isRejection = "decision" in raw && raw.decision === "reject";
  const ofProfile = "subject" in raw && raw.subject === "profile";
  const takesNoTier = isRejection || ofProfile;
  return [
    ...(isRejection && !("reason" in raw) ? [toFieldError("reason", "required", "A rejection needs a reason.")] : []),
    ...(takesNoTier && "accreditation_tier" in raw
      ? [toFieldError("accreditation_tier", "invalid_field", "Only an approval of the verification can have a tier.")]
      : []),
    ...(!ofProfile && "proposed_at" in raw
      ? [toFieldError("proposed_at", "invalid_field", "Only a decision on a proposed profile can have this instant.")]
      : []),
  ];
}

export const renewalInput = z
  .strictObject({ expires_at: instantInput.optional() })
  .register(z.globalRegistry, { id: "AttestationRenewal" });
export type RenewalInput = z.infer<typeof renewalInput>;

// ---- Suspension, reinstatement and closing (ACC-25, ACC-26, ACC-27) ------------------------------------------------------

export const accountStatusParams = z.object({ platform_id: z.string() });

export const statusReasonInput = z
  .strictObject({ reason: buildTextSchema(1000) })
  .register(z.globalRegistry, { id: "AccountStandingInput" });

export const closingInput = z
  .strictObject({ confirmation: z.string().min(1).max(500), current_password: presentedPassword })
  .register(z.globalRegistry, { id: "ClosingInput" });
export type ClosingInput = z.infer<typeof closingInput>;
