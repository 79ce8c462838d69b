// Wire schemas of alerts.
import * as z from "zod";

import { pageQuery } from "../http/schemas.ts";
export const alertParams = z.object({ alert_id: z.string() });
export const alertQuery = z.strictObject({ ...pageQuery, status: z.enum(["open", "acknowledged"]).default("open") });
export type AlertQuery = z.infer<typeof alertQuery>;
