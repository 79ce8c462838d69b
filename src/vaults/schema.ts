// Requests about a provider's escrow (MKT-26): its release (MKT-29).
import * as z from "zod";
import { amountInput, didInput, networkInput, pageQuery } from "../http/schemas.ts";

export const releaseInput = z
  .strictObject({ network: networkInput, amount: amountInput.optional() })
  .register(z.globalRegistry, { id: "ReleaseInput" });
export type ReleaseInput = z.infer<typeof releaseInput>;

// Differences between vaults and their ledgers, for operators (MKT-28).

export const differenceQuery = z.strictObject({
  ...pageQuery,
  network: networkInput.optional(),
  did: didInput.optional(),
});
export type DifferenceQuery = z.infer<typeof differenceQuery>;
