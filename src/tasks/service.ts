// Specification 4, Tasks: what a party reads of its task. Closing it touches both agents: flows/settle-task.ts.
import type { AgentCall } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { Read } from "../db/batch.ts";
import type { TaskView } from "./schema.ts";
import { findTask } from "./store.ts";
import { toTaskView } from "./views.ts";

export async function getTask(call: AgentCall, taskId: string): Promise<TaskView> {
  const { found } = await call.read({ found: findTask(call.db, taskId) });
  if (!found) throw new ServiceError("not_found");
  const { consumerDid, providerDid } = found.task;
  if (call.did !== consumerDid && call.did !== providerDid) throw new ServiceError("forbidden");
  return toTaskView(call.deps.config, found, call.now);
}

/** The object of a task's path, for the router: unknown is 404 before the body is judged. */
export const taskSubject = (call: AgentCall, taskId: string): Read<unknown> => findTask(call.db, taskId);
