// Responses about the standing of principals and customers.
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
