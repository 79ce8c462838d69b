// Responses of an agent's reports.
import * as z from "zod";
import { escrowView } from "../agents/schema.ts";
import { transactionView } from "../facilitation/responses.ts";
import { buildListSchema } from "../http/response-parts.ts";
import { did, escrowState } from "../http/schemas.ts";
import { performancePillar } from "../identity/responses.ts";
import { eventView } from "../journal/responses.ts";
import { taskView } from "../tasks/responses.ts";

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

export const taskList = buildListSchema(taskView).register(z.globalRegistry, { id: "TaskList" });
export const transactionList = buildListSchema(transactionView).register(z.globalRegistry, { id: "TransactionList" });
