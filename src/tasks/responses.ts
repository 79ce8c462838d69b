// Responses about tasks and their confirmation.
import * as z from "zod";
import { amount, did, environment, fraction, instant } from "../http/schemas.ts";
import { taskOutcome, taskStatus } from "./schema.ts";

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

export const taskConfirmationView = z
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

export type ConfirmationView = z.infer<typeof taskConfirmationView>;
