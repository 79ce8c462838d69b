// Maps rows to the tasks of schema.ts at an instant, and to pages of them.
import { formatTokenUnits, requireNetwork } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { type Listing, type Page, toPage } from "../core/page.ts";
import type { TaskRow } from "../db/tables/money.ts";
import { type ClockedTask, type Clocks, computeTaskNow } from "./clocks.ts";
import type { TaskView } from "./responses.ts";
import { toEffectiveTask } from "./states.ts";

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
