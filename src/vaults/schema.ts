// Requests about a provider's escrow (MKT-26): its release (MKT-29).
import * as z from "zod";

import { amountInput, networkInput } from "../http/schemas.ts";

export const releaseInput = z
  .strictObject({ network: networkInput, amount: amountInput.optional() })
  .register(z.globalRegistry, { id: "ReleaseInput" });
export type ReleaseInput = z.infer<typeof releaseInput>;
