// The promotion of an agent on the wire (AGT-34).
import * as z from "zod";
import { idInput } from "../http/schemas.ts";

export const promotionInput = z
  .strictObject({ environment: z.literal("production"), principal_id: idInput.optional() })
  .register(z.globalRegistry, { id: "AgentPromotionInput" });
export type PromotionInput = z.infer<typeof promotionInput>;
