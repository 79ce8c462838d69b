// Routes of tasks (TSK-1, TSK-2).
import { route } from "../http/route.ts";
import { confirmTask } from "./confirm.ts";
import { getTask, precheckConfirmation, precheckReading } from "./read.ts";
import { confirmFaults, confirmInput, taskParams } from "./schema.ts";

export const taskRoutes = [
  route({
    method: "get",
    path: "/v1/tasks/{task_id}",
    operationId: "getTask",
    params: taskParams,
    status: 200,
    errors: ["not_found", "forbidden"],
    surfaces: ["agent"],
    handle: (call, { params }) => getTask(call, params.task_id),
    precheck: (call, { params }) => precheckReading(call, params.task_id),
  }),
  route({
    method: "post",
    path: "/v1/tasks/{task_id}/confirm",
    operationId: "confirmTask",
    params: taskParams,
    body: confirmInput,
    rules: confirmFaults,
    status: 200,
    errors: ["not_found", "forbidden", "task_already_closed", "confirmation_window_closed", "invalid_status"],
    idempotency: "plain",
    surfaces: ["agent"],
    handle: (call, { params, body }) => confirmTask(call, params.task_id, body),
    precheck: (call, { params }) => precheckConfirmation(call, params.task_id),
  }),
];
