// Sign-up on the wire (ACC-10).
import * as z from "zod";
import { PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from "../core/limits.ts";
import { trimSpaces } from "../core/text.ts";
import { buildNameSchema, buildNormalizedSchema } from "../http/schemas.ts";

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
export const presentedPassword = buildNormalizedSchema("NFKC", PASSWORD_MAX_CHARS)
  .min(1)
  .max(PASSWORD_MAX_CHARS)
  .register(z.globalRegistry, { id: "PresentedPassword" });

export const registrationInput = z
  .strictObject({ email: emailInput, password: passwordInput, legal_name: buildNameSchema(300).optional() })
  .register(z.globalRegistry, { id: "RegistrationInput" });
export type RegistrationInput = z.infer<typeof registrationInput>;

/** The token of a mailed link. */
export const linkToken = z.string().min(1).max(200);

export const tokenInput = z.strictObject({ token: linkToken }).register(z.globalRegistry, { id: "TokenInput" });
export type TokenInput = z.infer<typeof tokenInput>;

export const verificationInput = z
  .strictObject({ token: linkToken, password: presentedPassword.optional() })
  .register(z.globalRegistry, { id: "VerificationInput" });
export type VerificationInput = z.infer<typeof verificationInput>;

export const addressInput = z.strictObject({ email: emailInput }).register(z.globalRegistry, { id: "AddressInput" });
