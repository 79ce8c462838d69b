// Reads a task for its parties (TSK-1), and maps rows to the shapes of responses.ts.
import { type AgentCall, type Precheck, precheck } from "../call.ts";
import { formatTokenUnits, requireNetwork } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { type Listing, type Page, toPage } from "../core/page.ts";
import type { TaskRow } from "../db/tables/money.ts";
import type { TaskView } from "./responses.ts";
import { toEffectiveTask } from "./states.ts";
import { type ClockedTask, type Clocks, computeTaskNow, findTask, findTaskFor } from "./store.ts";

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

// ---- Views -----------------------------------------------------------------------------------------------------------------

export function toTaskView(config: Config, task: TaskRow, now: number): TaskView {
  const { status, outcome, score, closedAt } = toEffectiveTask(task, now);
  return {
    task_id: task.taskId,
    transaction_id: task.transactionId,
    facilitation_id: task.transactionId,
    intent_id: task.intentId,
    environment: task.environment,
    status,
    outcome,
    score,
    note: task.note,
    consumer_did: task.consumerDid,
    provider_did: task.providerDid,
    gross_amt: formatTokenUnits(requireNetwork(config.networks, task.network), task.gross),
    currency: task.currency,
    network: task.network,
    opened_at: toIso(task.openedAt),
    confirm_by: toIso(task.confirmBy),
    closed_at: toIsoOrNull(closedAt),
  };
}

/** Builds a page of an agent's tasks, each on the clock that rules it. */
export const toTaskPage = (
  config: Config,
  found: readonly ClockedTask[],
  page: { readonly limit: number; readonly listing: Listing },
  clocks: Clocks,
): Page<TaskView> =>
  toPage(
    found,
    page,
    ({ confirmBy, taskId }) => ({ at: confirmBy, id: taskId }),
    (task) => toTaskView(config, task, computeTaskNow(clocks, task)),
  );
