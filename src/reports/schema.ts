// Reports of an agent on the wire (AGT-35 to AGT-37).
import * as z from "zod";
import { escrowView } from "../agents/schema.ts";
import { transactionStatus, transactionView } from "../facilitation/schema.ts";
import { did, didInput, escrowState, instantInput, listOf, pageQuery, side } from "../http/schemas.ts";
import { performancePillar } from "../identity/schema.ts";
import { eventView } from "../journal/event-schema.ts";
import { taskOutcome, taskStatus, taskView } from "../tasks/schema.ts";

const count = z.number().int().min(0);

export const overviewView = z
  .object({
    did,
    performance: performancePillar,
    escrow_state: escrowState.nullable(),
    escrow: z.array(escrowView),
    open: z.object({ intents: count, tasks: count, disputes: count }).register(z.globalRegistry, { id: "OpenMatters" }),
    recent_events: z.array(eventView),
  })
  .register(z.globalRegistry, { id: "AgentOverview" });
export type OverviewView = z.infer<typeof overviewView>;

export const taskQuery = z.strictObject({
  ...pageQuery,
  status: taskStatus.optional(),
  outcome: taskOutcome.optional(),
  since: instantInput.optional(),
});
export type TaskQuery = z.infer<typeof taskQuery>;

export const reportQuery = z.strictObject(pageQuery);
export type ReportQuery = z.infer<typeof reportQuery>;

/** What the lists across an account are filtered by, beside their status. */
const accountQuery = {
  ...pageQuery,
  did: didInput.optional(),
  role: side.optional(),
  since: instantInput.optional(),
  until: instantInput.optional(),
};

export const transactionQuery = z.strictObject({ ...accountQuery, status: transactionStatus.optional() });
export type TransactionQuery = z.infer<typeof transactionQuery>;

export const accountTaskQuery = z.strictObject({ ...accountQuery, status: taskStatus.optional() });
export type AccountTaskQuery = z.infer<typeof accountTaskQuery>;

export const taskList = listOf(taskView).register(z.globalRegistry, { id: "TaskList" });
export const transactionList = listOf(transactionView).register(z.globalRegistry, { id: "TransactionList" });
