// The usage of an account on the wire (EVT-36).
import * as z from "zod";
import { VOLUME_QUOTAS } from "../core/volume.ts";
import { instant } from "../http/schemas.ts";

const count = z.number().int().nonnegative();

const environmentUsage = z
  .object({
    events: count,
    deliveries: count,
    event_bytes: count,
    endpoints: count,
    limits: z.object({ events: count, event_bytes: count }),
    used_up: z.enum(VOLUME_QUOTAS).nullable(),
  })
  .register(z.globalRegistry, { id: "EnvironmentUsage" });

export const accountUsage = z
  .object({
    platform_id: z.string(),
    since: instant,
    resets_at: instant,
    sandbox: environmentUsage,
    production: environmentUsage,
    rows: count,
    mails: count,
  })
  .register(z.globalRegistry, { id: "AccountUsage" });
export type AccountUsage = z.infer<typeof accountUsage>;
