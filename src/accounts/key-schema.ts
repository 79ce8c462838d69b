// Management keys on the wire (ACC-16, ACC-17).
import * as z from "zod";
import { ROTATION_GRACE_HOURS_MAX } from "../core/limits.ts";
import { environment, instant, listOf } from "../http/schemas.ts";

export const issuedKey = z
  .object({ raw_key: z.string(), key_prefix: z.string(), environment, warning: z.string() })
  .register(z.globalRegistry, { id: "IssuedKey" });

export const keyView = z
  .object({
    key_id: z.string(),
    key_prefix: z.string(),
    environment,
    created_at: instant,
    expires_at: instant.nullable(),
    last_used_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "ManagementKey" });

export const keyList = listOf(keyView).register(z.globalRegistry, { id: "ManagementKeyList" });

export const rotationInput = z
  .strictObject({
    environment: environment.optional(),
    grace_hours: z.number().int().min(0).max(ROTATION_GRACE_HOURS_MAX).default(0),
  })
  .register(z.globalRegistry, { id: "RotationInput" });
export type RotationInput = z.infer<typeof rotationInput>;

export const rotationView = z
  .object({ api_key: issuedKey, previous_key_expires_at: instant })
  .register(z.globalRegistry, { id: "KeyRotation" });

export const promotionView = z
  .object({
    environment,
    promoted_at: instant,
    live_key_issued: z.boolean(),
    api_key: issuedKey,
  })
  .register(z.globalRegistry, { id: "Promotion" });
