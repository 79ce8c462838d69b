// Tasks and their confirmation on the wire.
import * as z from "zod";
import { type FieldError, toFieldError } from "../core/errors.ts";
import { TASK_OUTCOMES, TASK_STATUSES } from "../core/vocabulary.ts";
import { fraction, wordsInput } from "../http/schemas.ts";

export const taskParams = z.object({ task_id: z.string() });

export const taskStatus = z.enum(TASK_STATUSES).register(z.globalRegistry, { id: "TaskState" });
export const taskOutcome = z.enum(TASK_OUTCOMES).register(z.globalRegistry, { id: "TaskOutcome" });

export const confirmInput = z
  .strictObject({
    outcome: taskOutcome,
    score: fraction.nullable().optional(),
    note: wordsInput.optional(),
  })
  .register(z.globalRegistry, { id: "TaskConfirmation" });

export type ConfirmInput = z.infer<typeof confirmInput>;

/** A partial delivery needs a score (TSK-2). */
export function findConfirmFaults(raw: unknown): FieldError[] {
  if (typeof raw !== "object" || raw === null || !("outcome" in raw) || raw.outcome !== "partial") return [];
  const given = "score" in raw && raw.score !== undefined && raw.score !== null;
  return given ? [] : [toFieldError("score", "required")];
}
