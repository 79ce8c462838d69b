// Suspension, reinstatement and closing of an account on the wire (ACC-27, ACC-25, ACC-26).
import * as z from "zod";
import { buildTextSchema } from "../http/schemas.ts";

import { presentedPassword } from "./sign-up-schema.ts";

export const accountStatusParams = z.object({ platform_id: z.string() });

export const statusReasonInput = z
  .strictObject({ reason: buildTextSchema(1000) })
  .register(z.globalRegistry, { id: "AccountStandingInput" });

export const closingInput = z
  .strictObject({ confirmation: z.string().min(1).max(500), current_password: presentedPassword })
  .register(z.globalRegistry, { id: "ClosingInput" });
export type ClosingInput = z.infer<typeof closingInput>;
