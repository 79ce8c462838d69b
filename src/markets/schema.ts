// The public list of markets on the wire (MKT-2).
import * as z from "zod";
import { pageQuery } from "../http/schemas.ts";

export const marketQuery = z.strictObject(pageQuery);
export type MarketQuery = z.infer<typeof marketQuery>;
