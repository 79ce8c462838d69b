// Differences between vaults and their ledgers on the wire, for operators (MKT-28).
import * as z from "zod";
import { amount, did, didInput, instant, listOf, networkInput, pageQuery } from "../http/schemas.ts";

export const differenceView = z
  .object({
    network: z.string(),
    caip2: z.string(),
    did,
    contract: z.string(),
    currency: z.string(),
    held: amount,
    expected: amount,
    block_number: z.number().int(),
    found_at: instant,
    alert_id: z.string().nullable(),
  })
  .register(z.globalRegistry, { id: "LedgerDifference" });
export type DifferenceView = z.infer<typeof differenceView>;

export const differenceList = listOf(differenceView).register(z.globalRegistry, { id: "LedgerDifferenceList" });
export const differenceQuery = z.strictObject({
  ...pageQuery,
  network: networkInput.optional(),
  did: didInput.optional(),
});
export type DifferenceQuery = z.infer<typeof differenceQuery>;
