// Reads a task for its parties (TSK-1).
import { type AgentCall, type Precheck, precheck } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { TaskRow } from "../db/tables/money.ts";
import type { TaskView } from "./responses.ts";
import { findTask, findTaskFor } from "./store.ts";
import { toTaskView } from "./views.ts";

export async function getTask(call: AgentCall, taskId: string): Promise<TaskView> {
  const { found } = await call.read(
    { found: findTaskFor(call.db, taskId, call.did) },
    { clock: ({ found: task }) => task?.clockOffsetMs },
  );
  if (!found) throw new ServiceError("not_found");
  refuseStrangers(call, found.task);
  return toTaskView(call.deps.config, found.task, call.now);
}

/** Refuses an unknown task (404) and a stranger to it (403) before 422. */
export const precheckTaskReading = (call: AgentCall, taskId: string): Precheck =>
  precheck({ found: findTask(call.db, taskId) }, ({ found }) => {
    if (!found) throw new ServiceError("not_found");
    refuseStrangers(call, found.task);
    return [];
  });

function refuseStrangers(call: AgentCall, { consumerDid, providerDid }: TaskRow): void {
  if (call.did !== consumerDid && call.did !== providerDid) throw new ServiceError("forbidden");
}

/** Refuses an unknown task (404) and a caller that may not confirm it (403) before 422. */
export const precheckConfirmation = (call: AgentCall, taskId: string): Precheck =>
  precheck({ found: findTask(call.db, taskId) }, ({ found }) => {
    refuseNonConsumers(call, found?.task ?? null);
    return [];
  });

/** Refuses every caller but the consumer, even the provider (TSK-2). */
export function refuseNonConsumers(call: AgentCall, task: TaskRow | null): asserts task is TaskRow {
  if (!task) throw new ServiceError("not_found");
  if (call.did !== task.consumerDid)
    throw new ServiceError("forbidden", { message: "Only the consumer of a task can confirm it." });
}
