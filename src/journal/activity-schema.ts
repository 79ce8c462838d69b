// Wire schemas of the activity log.
import * as z from "zod";
import { ACTIVITY_ACTIONS, ACTOR_TYPES } from "../core/vocabulary.ts";
import { environment, instantInput, pageQuery } from "../http/schemas.ts";

export const activityAction = z.enum(ACTIVITY_ACTIONS).register(z.globalRegistry, { id: "ActivityAction" });
export const actorType = z.enum(ACTOR_TYPES).register(z.globalRegistry, { id: "ActorType" });

const word = z.string().min(1).max(320);
export const activityQuery = z.strictObject({
  ...pageQuery,
  subject_type: z.string().min(1).max(50).optional(),
  subject_id: word.optional(),
  actor_type: actorType.optional(),
  actor: word.optional(),
  action: activityAction.optional(),
  environment: environment.optional(),
  occurred_after: instantInput.optional(),
  occurred_before: instantInput.optional(),
});
export type ActivityQuery = z.infer<typeof activityQuery>;
export const activityHeadQuery = z.strictObject(pageQuery);
export type HeadQuery = z.infer<typeof activityHeadQuery>;

const entryId = z.string().min(1).max(100);
export const verifyQuery = z.strictObject({ from: entryId.optional(), to: entryId.optional() });
export type VerifyQuery = z.infer<typeof verifyQuery>;

export const BREAKS = ["sequence_broken", "hash_mismatch", "head_mismatch"] as const;
export type Break = (typeof BREAKS)[number];
