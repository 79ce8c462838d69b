// Responses to reactivations of principals and customers, and to attestations, with the agents that they reactivated (PRN-21).
import * as z from "zod";
import { customerView } from "../customers/schema.ts";
import { attestedView } from "../principals/responses.ts";
import { principalView } from "../principals/schema.ts";
import { reactivated } from "./schema.ts";

export const reactivatedPrincipal = principalView
  .extend(reactivated)
  .register(z.globalRegistry, { id: "ReactivatedPrincipal" });
export const reactivatedCustomer = customerView
  .extend(reactivated)
  .register(z.globalRegistry, { id: "ReactivatedCustomer" });
export const attestedPrincipal = attestedView
  .extend(reactivated)
  .register(z.globalRegistry, { id: "AttestedPrincipal" });
