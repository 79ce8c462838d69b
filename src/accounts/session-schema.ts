// Sessions on the wire (CRED-13).
import * as z from "zod";
import { instant } from "../http/schemas.ts";
import { emailInput, presentedPassword } from "./sign-up-schema.ts";

export const logInInput = z
  .strictObject({ email: emailInput, password: presentedPassword })
  .register(z.globalRegistry, { id: "LogInInput" });
export type LogInInput = z.infer<typeof logInInput>;

export const sessionView = z
  .object({ session_token: z.string(), expires_at: instant, platform_id: z.string() })
  .register(z.globalRegistry, { id: "Session" });
