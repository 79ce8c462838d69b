// Judges new passwords (CRED-20).
import { type FieldError, fieldError } from "../core/errors.ts";
import { foldName } from "../core/text.ts";
import { COMMON_PASSWORDS } from "./common-passwords.ts";

/** The faults that no length tells: the address itself, and what everybody tries first. */
export function passwordFaults(field: string, password: string, email: string | undefined): FieldError[] {
  const folded = foldName(password);
  if (email !== undefined && folded === foldName(email)) {
    return [fieldError(field, "invalid_value", "Must not be the email address.")];
  }
  return COMMON_PASSWORDS.has(folded)
    ? [fieldError(field, "invalid_value", "Is one of the most common passwords of its length.")]
    : [];
}
