// Alerts on the wire.
import * as z from "zod";
import { ALERT_KINDS } from "../core/vocabulary.ts";
import { instant, listOf, pageQuery } from "../http/schemas.ts";

export const alertView = z
  .object({
    alert_id: z.string(),
    kind: z.enum(ALERT_KINDS).register(z.globalRegistry, { id: "AlertKind" }),
    subject: z.string(),
    message: z.string(),
    raised_at: instant,
    last_seen_at: instant,
    seen: z.number().int(),
    acknowledged_at: instant.nullable(),
    acknowledged_by: z.string().nullable(),
  })
  .register(z.globalRegistry, { id: "Alert" });
export type AlertView = z.infer<typeof alertView>;

export const alertList = listOf(alertView).register(z.globalRegistry, { id: "AlertList" });
export const alertParams = z.object({ alert_id: z.string() });
export const alertQuery = z.strictObject({ ...pageQuery, status: z.enum(["open", "acknowledged"]).default("open") });
export type AlertQuery = z.infer<typeof alertQuery>;
