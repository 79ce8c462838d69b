// Schemas of suspensions, closings and reactivations of principals and customers (PRN-18, PRN-24).
import * as z from "zod";

import { buildTextSchema } from "../http/schemas.ts";

export const principalStandingInput = z
  .strictObject({ reason: buildTextSchema(500).optional() })
  .register(z.globalRegistry, { id: "PrincipalStandingInput" });
export const customerStandingInput = z
  .strictObject({ reason: buildTextSchema(500).optional() })
  .register(z.globalRegistry, { id: "CustomerStandingInput" });
export type StandingInput = z.infer<typeof principalStandingInput>;

export const reactivationInput = z
  .strictObject({ reason: buildTextSchema(500).optional(), reactivate_agents: z.boolean().optional() })
  .register(z.globalRegistry, { id: "ReactivationInput" });
export type ReactivationInput = z.infer<typeof reactivationInput>;

const count = z.int().min(0);
const agentsLeft = z
  .object({ escrow_constrained: count, platform: count, operator: count, principal_not_active: count })
  .register(z.globalRegistry, { id: "AgentsLeft" });
/** The effect of `reactivate_agents` on the first slice of agents. */
export const reactivation = z
  .object({ agents_reactivated: count, agents_left: agentsLeft, more: z.boolean() })
  .register(z.globalRegistry, { id: "Reactivation" });
export type Reactivation = z.infer<typeof reactivation>;
export const REACTIVATION_MEMBER = { reactivation: reactivation.optional() };
