// Networks as operators see them (CHN-32): as configured, as their chains have them, and how far they are read. What is read of a chain is null
// where its node does not say it.
import * as z from "zod";

import { pageQuery } from "../http/schemas.ts";

export const networkQuery = z.strictObject(pageQuery);
export type NetworkQuery = z.infer<typeof networkQuery>;
