// Routes of the reports of an agent (AGT-35 to AGT-37) and of an account (FAC-19), for its platform.
import { findNamedAgent } from "../agents/read.ts";
import { type DisputeView, disputeQuery, disputeView } from "../disputes/schema.ts";
import type { TransactionView } from "../facilitation/responses.ts";
import { answerCsv, type CsvColumn, prefersCsv } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { agentParams } from "../identity/schema.ts";

import type { TaskView } from "../tasks/responses.ts";
import {
  exportDisputes,
  exportTasks,
  exportTransactions,
  findNamedReported,
  getAgentEvents,
  getAgentTasks,
  getAgentTransactions,
  getDisputes,
  getOverview,
  getTasks,
  getTransactions,
} from "./reports.ts";
import { accountTaskQuery, reportQuery, taskQuery, transactionQuery } from "./schema.ts";

const TRANSACTION_COLUMNS = (
  [
    "transaction_id",
    "settled_at",
    "reversed_at",
    "status",
    "environment",
    "provider_did",
    "consumer_did",
    "intent_id",
    "task_id",
    "currency",
    "gross_amt",
    "fee_amt",
    "escrow_credited",
    "operational_amt",
    "network",
    "caip2",
    "tx_hash",
    "escrow_state",
    "escrow_balance",
    "confirm_by",
    "dispute_window_days",
    "dispute_window_closes_at",
    "provider_aid_version",
  ] as const
).map((name): CsvColumn<TransactionView> => [name, (transaction) => transaction[name]]);

/** All columns except the parties' free text. */
const DISPUTE_COLUMNS = Object.keys(disputeView.shape)
  .filter((name) => name !== "description" && name !== "resolution_sought")
  .map((name): CsvColumn<DisputeView> => [name, (dispute) => dispute[name as keyof DisputeView]]);

const TASK_COLUMNS = (
  [
    "task_id",
    "opened_at",
    "confirm_by",
    "closed_at",
    "status",
    "outcome",
    "score",
    "note",
    "environment",
    "provider_did",
    "consumer_did",
    "transaction_id",
    "intent_id",
    "currency",
    "gross_amt",
    "network",
  ] as const
).map((name): CsvColumn<TaskView> => [name, (task) => task[name]]);

export const reportRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/tasks",
    operationId: "listTasks",
    surfaces: ["agent", "management"],
    query: accountTaskQuery,
    status: 200,
    errors: [],
    headers: ["accept"],
    handle: async (call, { query, headers }) =>
      call.surface === "management" && prefersCsv(headers["accept"])
        ? answerCsv("tasks", TASK_COLUMNS, await exportTasks(call, query))
        : getTasks(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/disputes",
    operationId: "listDisputes",
    query: disputeQuery,
    status: 200,
    errors: [],
    headers: ["accept"],
    surfaces: ["agent", "management"],
    handle: async (call, { query, headers }) =>
      call.surface === "management" && prefersCsv(headers["accept"])
        ? answerCsv("disputes", DISPUTE_COLUMNS, await exportDisputes(call, query))
        : getDisputes(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/transactions",
    operationId: "listTransactions",
    surfaces: ["management"],
    query: transactionQuery,
    status: 200,
    errors: [],
    headers: ["accept"],
    handle: async (call, { query, headers }) =>
      prefersCsv(headers["accept"])
        ? answerCsv("transactions", TRANSACTION_COLUMNS, await exportTransactions(call, query))
        : getTransactions(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/overview",
    operationId: "getAgentOverview",
    params: agentParams,
    status: 200,
    errors: ["not_found"],
    surfaces: ["management"],
    object: findNamedAgent,
    handle: (call, { params }) => getOverview(call, params.did),
  }),
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/tasks",
    operationId: "listAgentTasks",
    params: agentParams,
    query: taskQuery,
    status: 200,
    errors: ["not_found"],
    surfaces: ["management"],
    object: findNamedReported,
    handle: (call, { params, query }) => getAgentTasks(call, params.did, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/transactions",
    operationId: "listAgentTransactions",
    params: agentParams,
    query: reportQuery,
    status: 200,
    errors: ["not_found"],
    surfaces: ["management"],
    object: findNamedReported,
    handle: (call, { params, query }) => getAgentTransactions(call, params.did, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/events",
    operationId: "listAgentEvents",
    params: agentParams,
    query: reportQuery,
    status: 200,
    errors: ["not_found", "cursor_expired"],
    surfaces: ["management"],
    object: findNamedReported,
    handle: (call, { params, query }) => getAgentEvents(call, params.did, query),
  }),
];
