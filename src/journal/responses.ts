// Responses about events, the activity log, the operators' log and alerts.
import * as z from "zod";
import { ALERT_KINDS } from "../core/vocabulary.ts";
import { buildListSchema, jws, runningHash } from "../http/response-parts.ts";
import { environment, instant, jsonObject } from "../http/schemas.ts";
import { activityAction, actorType, BREAKS, operatorAction } from "./schema.ts";

// ---- Events (EVT-1) ------------------------------------------------------------------------------------------------------

export const eventView = z
  .object({
    id: z.string(),
    type: z.string(),
    occurred_at: instant,
    environment,
    api_version: z.literal("v1"),
    data: z
      .object({ object: jsonObject, previous: jsonObject.optional() })
      .register(z.globalRegistry, { id: "EventData" }),
  })
  .register(z.globalRegistry, { id: "Event" });
export type EventView = z.infer<typeof eventView>;

export const eventList = buildListSchema(eventView).register(z.globalRegistry, { id: "EventList" });

// ---- The activity log ----------------------------------------------------------------------------------------------------

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

export const activityList = buildListSchema(activityEntry).register(z.globalRegistry, { id: "ActivityList" });

const activityHead = z
  .object({ seq: z.number().int(), hash: runningHash, signed_at: instant, jws })
  .register(z.globalRegistry, { id: "ActivityHead" });
export type ActivityHead = z.infer<typeof activityHead>;

export const headList = buildListSchema(activityHead).register(z.globalRegistry, { id: "ActivityHeadList" });

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

// ---- The operators' log --------------------------------------------------------------------------------------------------

const operatorEntry = z
  .object({
    seq: z.number().int(),
    occurred_at: instant,
    action: operatorAction,
    actor: z
      .object({ type: z.literal("operator"), id: z.string() })
      .register(z.globalRegistry, { id: "OperatorActor" }),
    subject: z.object({ type: z.string(), id: z.string() }).register(z.globalRegistry, { id: "OperatorSubject" }),
    platform_id: z.string().nullable(),
    detail: jsonObject.optional(),
  })
  .register(z.globalRegistry, { id: "OperatorEntry" });
export type OperatorEntry = z.infer<typeof operatorEntry>;

export const operatorEntryList = buildListSchema(operatorEntry).register(z.globalRegistry, { id: "OperatorEntryList" });

// ---- Alerts --------------------------------------------------------------------------------------------------------------

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

export const alertList = buildListSchema(alertView).register(z.globalRegistry, { id: "AlertList" });
