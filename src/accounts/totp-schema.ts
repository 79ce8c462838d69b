// TOTP on the wire (CRED-28).
import * as z from "zod";

import { presentedPassword } from "./sign-up-schema.ts";

/** A code of the app or a recovery code, grouped in any way. */
export const totpInput = z.string().min(1).max(40).register(z.globalRegistry, { id: "TotpInput" });

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
