// Routes of tasks (TSK-1, TSK-2).
import { defineRoute } from "../http/route.ts";
import { confirmTask } from "./confirm.ts";
import { getTask, precheckConfirmation, precheckTaskReading } from "./read.ts";
import { confirmInput, findConfirmFaults, taskParams } from "./schema.ts";

export const taskRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/tasks/{task_id}",
    operationId: "getTask",
    params: taskParams,
    status: 200,
    errors: ["not_found", "forbidden"],
    surfaces: ["agent"],
    handle: (call, { params }) => getTask(call, params.task_id),
    precheck: (call, { params }) => precheckTaskReading(call, params.task_id),
  }),
  defineRoute({
    method: "post",
    path: "/v1/tasks/{task_id}/confirm",
    operationId: "confirmTask",
    params: taskParams,
    body: confirmInput,
    rules: findConfirmFaults,
    status: 200,
    errors: ["not_found", "forbidden", "task_already_closed", "confirmation_window_closed", "invalid_status"],
    idempotency: "plain",
    surfaces: ["agent"],
    handle: (call, { params, body }) => confirmTask(call, params.task_id, body),
    precheck: (call, { params }) => precheckConfirmation(call, params.task_id),
  }),
];
