// The standing of a principal and of a customer on the wire (PRN-18, PRN-24).
import * as z from "zod";
import { text } from "../http/schemas.ts";

export const principalStandingInput = z
  .strictObject({ reason: text(500).optional() })
  .register(z.globalRegistry, { id: "PrincipalStandingInput" });
export const customerStandingInput = z
  .strictObject({ reason: text(500).optional() })
  .register(z.globalRegistry, { id: "CustomerStandingInput" });
export type StandingInput = z.infer<typeof principalStandingInput>;
