// The query of the public list of markets (MKT-2).
import * as z from "zod";
import { pageQuery } from "../http/schemas.ts";

export const marketQuery = z.strictObject(pageQuery);
export type MarketQuery = z.infer<typeof marketQuery>;
