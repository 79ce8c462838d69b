// Management keys on the wire (ACC-16, ACC-17).
import * as z from "zod";
import { ROTATION_GRACE_HOURS_MAX } from "../core/limits.ts";
import { environment } from "../http/schemas.ts";

export const rotationInput = z
  .strictObject({
    environment: environment.optional(),
    grace_hours: z.number().int().min(0).max(ROTATION_GRACE_HOURS_MAX).default(0),
  })
  .register(z.globalRegistry, { id: "RotationInput" });
export type RotationInput = z.infer<typeof rotationInput>;
