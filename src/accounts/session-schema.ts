// Sessions on the wire (CRED-13, CRED-27, CRED-30).
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { pageQuery } from "../http/schemas.ts";
import { emailInput, presentedPassword } from "./sign-up-schema.ts";
import { totpInput } from "./totp-schema.ts";

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

/** Requires exactly one of the two. */
export function findConfirmationFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null) return [];
  const { current_password, totp } = raw as Record<string, unknown>;
  if (current_password === undefined && totp === undefined)
    return [toFieldError("current_password", "required", "Send current_password or totp.")];
  if (current_password === undefined || totp === undefined) return [];
  return [toFieldError("totp", "invalid_value", "Send current_password or totp, not both.")];
}
