// Responses to reactivations of principals and customers, and to attestations, with the agents that they reactivated (PRN-21).
import * as z from "zod";
import { customerView } from "../customers/schema.ts";
import { attestedView } from "../principals/responses.ts";
import { principalView } from "../principals/schema.ts";
import { REACTIVATION_MEMBER } from "./schema.ts";

export const reactivatedPrincipalView = principalView
  .extend(REACTIVATION_MEMBER)
  .register(z.globalRegistry, { id: "ReactivatedPrincipal" });
export const reactivatedCustomerView = customerView
  .extend(REACTIVATION_MEMBER)
  .register(z.globalRegistry, { id: "ReactivatedCustomer" });
export const attestedPrincipalView = attestedView
  .extend(REACTIVATION_MEMBER)
  .register(z.globalRegistry, { id: "AttestedPrincipal" });
