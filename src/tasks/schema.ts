// Performance tasks and their confirmation on the wire.
import * as z from "zod";
import { type FieldError, fieldError } from "../core/errors.ts";
import { TASK_OUTCOMES, TASK_STATUSES } from "../core/vocabulary.ts";
import { amount, did, environment, fraction, instant, wordsInput } from "../http/schemas.ts";

export const taskParams = z.object({ task_id: z.string() });

export const taskStatus = z.enum(TASK_STATUSES).register(z.globalRegistry, { id: "TaskState" });
export const taskOutcome = z.enum(TASK_OUTCOMES).register(z.globalRegistry, { id: "TaskOutcome" });

export const taskView = z
  .object({
    task_id: z.string(),
    transaction_id: z.string(),
    facilitation_id: z.string(),
    intent_id: z.string(),
    environment: environment,
    status: taskStatus,
    outcome: taskOutcome.nullable(),
    score: fraction.nullable(),
    note: z.string().nullable(),
    consumer_did: did,
    provider_did: did,
    gross_amt: amount,
    currency: z.string(),
    network: z.string(),
    opened_at: instant,
    confirm_by: instant,
    closed_at: instant.nullable(),
  })
  .register(z.globalRegistry, { id: "Task" });

export type TaskView = z.infer<typeof taskView>;

export const confirmInput = z
  .strictObject({
    outcome: taskOutcome,
    score: fraction.nullable().optional(),
    note: wordsInput.optional(),
  })
  .register(z.globalRegistry, { id: "TaskConfirmation" });

export type ConfirmInput = z.infer<typeof confirmInput>;

/** A partial delivery needs a score (TSK-2). */
export function confirmFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null || !("outcome" in raw) || raw.outcome !== "partial") return [];
  const given = "score" in raw && raw.score !== undefined && raw.score !== null;
  return given ? [] : [fieldError("score", "required")];
}

export const confirmationView = z
  .object({
    task_id: z.string(),
    status: taskStatus,
    outcome: taskOutcome,
    score: fraction,
    provider_r_i: fraction,
    consumer_r_i: fraction,
    provider_ar: fraction.nullable(),
    consumer_ar: fraction.nullable(),
    closed_at: instant,
  })
  .register(z.globalRegistry, { id: "TaskClosed" });

export type ConfirmationView = z.infer<typeof confirmationView>;
