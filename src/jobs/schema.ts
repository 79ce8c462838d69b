// Jobs on the wire.
import * as z from "zod";
import { instant } from "../http/schemas.ts";

const jobView = z
  .object({
    name: z.string(),
    started_at: instant,
    finished_at: instant.nullable(),
    lag_seconds: z.number().int(),
    found: z.number().int(),
    done: z.number().int(),
    failed: z.number().int(),
    pending: z.number().int(),
    last_error: z
      .object({ at: instant, message: z.string() })
      .register(z.globalRegistry, { id: "JobError" })
      .nullable(),
  })
  .register(z.globalRegistry, { id: "Job" });
export type JobView = z.infer<typeof jobView>;

export const jobList = z.object({ data: z.array(jobView) }).register(z.globalRegistry, { id: "JobList" });
