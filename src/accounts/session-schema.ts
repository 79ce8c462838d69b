// Sessions on the wire (CRED-13).
import * as z from "zod";
import { PASSWORD_MAX_CHARS } from "../core/limits.ts";
import { instant, normalized } from "../http/schemas.ts";
import { emailInput } from "./sign-up-schema.ts";

/** A password as it is presented: rules are for new ones. */
export const presentedPassword = normalized("NFKC", PASSWORD_MAX_CHARS)
  .min(1)
  .max(PASSWORD_MAX_CHARS)
  .register(z.globalRegistry, { id: "PresentedPassword" });

export const logInInput = z
  .strictObject({ email: emailInput, password: presentedPassword })
  .register(z.globalRegistry, { id: "LogInInput" });
export type LogInInput = z.infer<typeof logInInput>;

export const sessionView = z
  .object({ session_token: z.string(), expires_at: instant, platform_id: z.string() })
  .register(z.globalRegistry, { id: "Session" });
