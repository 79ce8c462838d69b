// Routes of the reports of an agent, for its platform (AGT-35 to AGT-37).

import { precheckAgent } from "../agents/read.ts";
import { route } from "../http/route.ts";
import { agentParams } from "../identity/schema.ts";
import { eventList } from "../journal/event-schema.ts";
import { getAgentEvents, getAgentTasks, getAgentTransactions, precheckReported } from "./lists.ts";
import { getOverview } from "./overview.ts";
import { overviewView, reportQuery, taskList, taskQuery, transactionList } from "./schema.ts";

export const reportRoutes = [
  route({
    method: "get",
    path: "/v1/agents/{did}/overview",
    operationId: "getAgentOverview",
    tag: "Agents",
    summary: "Read an agent's overview",
    description:
      "What it has earned, what its escrow holds, what it has open at this instant, and its ten latest events. Of open intents and tasks no " +
      "more than 1,000 are counted.",
    params: agentParams,
    status: 200,
    response: { schema: overviewView, description: "The overview." },
    errors: ["not_found"],
    surfaces: ["management"],
    handle: (call, { params }) => getOverview(call, params.did),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
  route({
    method: "get",
    path: "/v1/agents/{did}/tasks",
    operationId: "listAgentTasks",
    tag: "Agents",
    summary: "List an agent's tasks",
    description: "Newest first, as consumer or as provider. A task is in the state that counts at this instant.",
    params: agentParams,
    query: taskQuery,
    status: 200,
    response: { schema: taskList, description: "A page of tasks." },
    errors: ["not_found"],
    surfaces: ["management"],
    handle: (call, { params, query }) => getAgentTasks(call, params.did, query),
    precheck: (call, { params }) => precheckReported(call, params.did),
  }),
  route({
    method: "get",
    path: "/v1/agents/{did}/transactions",
    operationId: "listAgentTransactions",
    tag: "Agents",
    summary: "List an agent's transactions",
    description: "Newest first, as consumer or as provider, also those that opened no task.",
    params: agentParams,
    query: reportQuery,
    status: 200,
    response: { schema: transactionList, description: "A page of transactions." },
    errors: ["not_found"],
    surfaces: ["management"],
    handle: (call, { params, query }) => getAgentTransactions(call, params.did, query),
    precheck: (call, { params }) => precheckReported(call, params.did),
  }),
  route({
    method: "get",
    path: "/v1/agents/{did}/events",
    operationId: "listAgentEvents",
    tag: "Agents",
    summary: "List an agent's events",
    description:
      "Newest first, of the last 30 days: events of the agent, and of the intents, transactions and tasks that it is a party of. A cursor " +
      "into older ones is 410 `cursor_expired`.",
    params: agentParams,
    query: reportQuery,
    status: 200,
    response: { schema: eventList, description: "A page of events." },
    errors: ["not_found", "cursor_expired"],
    surfaces: ["management"],
    handle: (call, { params, query }) => getAgentEvents(call, params.did, query),
    precheck: (call, { params }) => precheckReported(call, params.did),
  }),
];
