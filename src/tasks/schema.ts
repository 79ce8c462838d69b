// Specification 2.7 on the wire: the performance task and its confirmation.
import { z } from "@hono/zod-openapi";
import { type FieldError, fieldError } from "../core/errors.ts";
import { instant, text } from "../http/schemas.ts";
import { OUTCOMES, TASK_STATUSES } from "./states.ts";

export const taskParams = z.object({ task_id: z.string().openapi({ example: "tsk_01JD3S2Q4N7W8X9Y0Z1A2B3C4D" }) });

export const taskView = z
  .object({
    task_id: z.string(),
    transaction_id: z.string(),
    facilitation_id: z.string(),
    intent_id: z.string(),
    environment: z.enum(["sandbox", "production"]),
    status: z.enum(TASK_STATUSES),
    outcome: z.enum(OUTCOMES).nullable(),
    score: z.number().nullable(),
    note: z.string().nullable(),
    consumer_did: z.string(),
    provider_did: z.string(),
    gross_amt: z.string(),
    currency: z.string(),
    network: z.string(),
    opened_at: instant,
    confirm_by: instant,
    closed_at: instant.nullable(),
  })
  .openapi("Task");

export type TaskView = z.infer<typeof taskView>;

export const confirmInput = z
  .strictObject({
    outcome: z.enum(OUTCOMES),
    score: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .optional()
      .openapi({ description: "Required for `partial`; `confirmed` is 1 and `rejected` 0 whatever is sent." }),
    note: text(2000).nullable().optional(),
  })
  .openapi("TaskConfirmation", { example: { outcome: "partial", score: 0.8, note: "One page was missing." } });

export type ConfirmInput = z.infer<typeof confirmInput>;

/** A partial delivery says how much of it. */
export function confirmFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null || !("outcome" in raw) || raw.outcome !== "partial") return [];
  const given = "score" in raw && raw.score !== undefined && raw.score !== null;
  return given ? [] : [fieldError("score", "required")];
}

export const confirmationView = z
  .object({
    task_id: z.string(),
    status: z.enum(TASK_STATUSES),
    outcome: z.enum(OUTCOMES),
    score: z.number(),
    provider_r_i: z.number().openapi({ description: "What the provider is rated for this task, 0 to 1." }),
    consumer_r_i: z.number().openapi({ description: "What the consumer is rated for this task, 0 to 1." }),
    provider_ar: z.number().nullable().openapi({ description: "The provider's rating after it; null while unrated." }),
    consumer_ar: z.number().nullable(),
    closed_at: instant,
  })
  .openapi("TaskClosed");

export type ConfirmationView = z.infer<typeof confirmationView>;
