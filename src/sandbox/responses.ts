// Responses about the sandbox clock.
import * as z from "zod";
import { instant } from "../http/schemas.ts";

export const clockView = z
  .object({ now: instant, real_time: instant, offset_ms: z.number().int() })
  .register(z.globalRegistry, { id: "SandboxClock" });
export type ClockView = z.infer<typeof clockView>;
