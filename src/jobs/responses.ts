// Responses about jobs.
import * as z from "zod";
import { CLOSURES } from "../chain/availability.ts";
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

export const closure = z.enum(CLOSURES).register(z.globalRegistry, { id: "NetworkClosure" });

/** The state of a network's follower (CHN-24). Values are null until it has read a head. */
const followedView = z
  .object({
    network: z.string(),
    lag_seconds: z.number().int().nullable(),
    head_block: z.number().int().nullable(),
    booked_block: z.number().int().nullable(),
    closed: closure.nullable(),
  })
  .register(z.globalRegistry, { id: "FollowedNetwork" });
export type FollowedView = z.infer<typeof followedView>;

const eventLag = z
  .object({
    waiting: z.number().int().nonnegative(),
    oldest_waiting_at: instant.nullable(),
    lag_seconds: z.number().int(),
    oldest_undelivered_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "EventLag" });

export const jobList = z
  .object({ data: z.array(jobView), networks: z.array(followedView), events: eventLag })
  .register(z.globalRegistry, { id: "JobList" });
export type JobListView = z.infer<typeof jobList>;
