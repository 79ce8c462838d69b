// Query of the operators' view of the networks (CHN-32).
import * as z from "zod";

import { pageQuery } from "../http/schemas.ts";

export const networkQuery = z.strictObject(pageQuery);
export type NetworkQuery = z.infer<typeof networkQuery>;
