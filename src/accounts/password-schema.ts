// Passwords and the change of the address on the wire (CRED-22, CRED-23, ACC-13).
import * as z from "zod";

import { emailInput, linkToken, passwordInput, presentedPassword } from "./sign-up-schema.ts";

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
