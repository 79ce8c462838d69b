// The activity log on the wire.
import * as z from "zod";
import { ACTIVITY_ACTIONS, ACTOR_TYPES } from "../core/vocabulary.ts";
import { environment, instant, instantInput, jws, listOf, pageQuery, runningHash } from "../http/schemas.ts";

const activityAction = z.enum(ACTIVITY_ACTIONS).register(z.globalRegistry, { id: "ActivityAction" });
const actorType = z.enum(ACTOR_TYPES).register(z.globalRegistry, { id: "ActorType" });
const change = z.object({ from: z.unknown(), to: z.unknown() }).register(z.globalRegistry, { id: "FieldChange" });

export const activityEntry = z
  .object({
    id: z.string(),
    seq: z.number().int(),
    occurred_at: instant,
    action: activityAction,
    actor: z.object({ type: actorType, id: z.string() }).register(z.globalRegistry, { id: "ActivityActor" }),
    subject: z.object({ type: z.string(), id: z.string() }).register(z.globalRegistry, { id: "ActivitySubject" }),
    environment,
    changes: z.record(z.string(), change).optional(),
  })
  .register(z.globalRegistry, { id: "ActivityEntry" });
export type ActivityEntry = z.infer<typeof activityEntry>;

export const activityList = listOf(activityEntry).register(z.globalRegistry, { id: "ActivityList" });

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

const activityHead = z
  .object({ seq: z.number().int(), hash: runningHash, signed_at: instant, jws })
  .register(z.globalRegistry, { id: "ActivityHead" });
export type ActivityHead = z.infer<typeof activityHead>;

export const headList = listOf(activityHead).register(z.globalRegistry, { id: "ActivityHeadList" });
export const headQuery = z.strictObject(pageQuery);
export type HeadQuery = z.infer<typeof headQuery>;

const entryId = z.string().min(1).max(100);
export const verifyQuery = z.strictObject({ from: entryId.optional(), to: entryId.optional() });
export type VerifyQuery = z.infer<typeof verifyQuery>;

/** Why a log is not whole. */
export const BREAKS = ["sequence_broken", "hash_mismatch", "head_mismatch"] as const;
export type Break = (typeof BREAKS)[number];

export const activityVerification = z
  .object({
    valid: z.boolean(),
    checked: z.number().int(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
    broken_at: z.string().nullable().optional(),
    broken_seq: z.number().optional(),
    reason: z.enum(BREAKS).optional(),
  })
  .register(z.globalRegistry, { id: "ActivityVerification" });
export type ActivityVerification = z.infer<typeof activityVerification>;
