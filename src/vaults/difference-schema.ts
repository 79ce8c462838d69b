// Differences between vaults and their ledgers on the wire, for operators (MKT-28).
import * as z from "zod";
import { didInput, networkInput, pageQuery } from "../http/schemas.ts";
export const differenceQuery = z.strictObject({
  ...pageQuery,
  network: networkInput.optional(),
  did: didInput.optional(),
});
export type DifferenceQuery = z.infer<typeof differenceQuery>;
