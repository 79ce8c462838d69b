// Wire schemas of the activity log, of events (EVT-1), of alerts and of the operators' log.
import * as z from "zod";
import { decodeIdInstant } from "../core/ids.ts";
import { ACTIVITY_ACTIONS, ACTOR_TYPES, OPERATOR_ACTIONS } from "../core/vocabulary.ts";
import { buildStartSchema, environment, instantInput, pageQuery } from "../http/schemas.ts";
import { EVENT_TYPES } from "./events.ts";

const word = z.string().min(1).max(320);

// ---- The activity log ----------------------------------------------------------------------------------------------------

export const activityAction = z.enum(ACTIVITY_ACTIONS).register(z.globalRegistry, { id: "ActivityAction" });
export const actorType = z.enum(ACTOR_TYPES).register(z.globalRegistry, { id: "ActorType" });

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

// ---- Events --------------------------------------------------------------------------------------------------------------

const since = buildStartSchema("the id of an event", (text) =>
  decodeIdInstant("evt", text) === null ? null : { id: text },
);

export const eventType = z.enum(EVENT_TYPES).register(z.globalRegistry, { id: "EventType" });

export const eventQuery = z.strictObject({
  ...pageQuery,
  type: eventType.optional(),
  subject: z.string().min(1).max(100).optional(),
  since: since.optional(),
});
export type EventQuery = z.infer<typeof eventQuery>;

export const eventParams = z.object({ event_id: z.string() });

// ---- Alerts --------------------------------------------------------------------------------------------------------------

export const alertParams = z.object({ alert_id: z.string() });
export const alertQuery = z.strictObject({ ...pageQuery, status: z.enum(["open", "acknowledged"]).default("open") });
export type AlertQuery = z.infer<typeof alertQuery>;

// ---- The operators' log --------------------------------------------------------------------------------------------------

export const operatorAction = z.enum(OPERATOR_ACTIONS).register(z.globalRegistry, { id: "OperatorAction" });

export const operatorLogQuery = z.strictObject({
  ...pageQuery,
  platform_id: word.optional(),
  actor: word.optional(),
  action: operatorAction.optional(),
});
export type OperatorLogQuery = z.infer<typeof operatorLogQuery>;
