// Lists of tasks: an agent's own (TSK-20), and those of all agents of an account by page or as CSV (TSK-19).
import { type AgentCall, type ManagementCall, readPage } from "../call.ts";
import { toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page } from "../core/page.ts";
import { SIDES } from "../core/vocabulary.ts";
import { type ListedTask, listAccountTasks } from "../tasks/account-list-store.ts";
import { readClocks } from "../tasks/clocks.ts";
import { buildTaskReads, mergeTasks } from "../tasks/list-store.ts";
import type { TaskView } from "../tasks/responses.ts";
import { toTaskPage, toTaskView } from "../tasks/views.ts";
import { type AccountList, answerAccountPage, exportAll, toAccountFilter } from "./export.ts";
import type { AccountTaskQuery } from "./schema.ts";

/** The credential of the call decides which list it gets. */
export const getTasks = (call: AgentCall | ManagementCall, query: AccountTaskQuery): Promise<Page<TaskView>> =>
  call.surface === "agent" ? getOwnTasks(call, query) : getAccountTasks(call, query);

async function getOwnTasks(call: AgentCall, query: AccountTaskQuery): Promise<Page<TaskView>> {
  const { db, deps, did } = call;
  const { did: asked, role, ...filter } = toAccountFilter(query);
  if (asked !== undefined && asked !== did) {
    const message = "An agent can list only its own tasks.";
    throw toValidationError([toFieldError("did", "invalid_value", message)]);
  }
  const page = await readPage(call, query, hashListing("own tasks", [did], { role, ...filter }));
  const clocks = readClocks(call);
  const sides = role === undefined ? SIDES : [role];
  const found = await call.read(buildTaskReads(db, sides, { did, environment: null }, filter, clocks, page));
  return toTaskPage(deps.config, mergeTasks(found), page, clocks);
}

function buildTaskList({ db, deps }: ManagementCall, query: AccountTaskQuery): AccountList<ListedTask, TaskView> {
  const real = deps.clock.now();
  return {
    list: (owner, range, page) => listAccountTasks(db, owner, { ...toAccountFilter(query), ...range }, real, page),
    positionOf: ({ settledAt, settlementId }) => ({ at: settledAt, id: settlementId }),
    toView: (task) => toTaskView(deps.config, task, real + task.clockOffsetMs),
  };
}

function getAccountTasks(call: ManagementCall, query: AccountTaskQuery): Promise<Page<TaskView>> {
  const listing = hashListing("tasks", [call.environment], toAccountFilter(query));
  return answerAccountPage(call, query, listing, buildTaskList(call, query));
}

/** Exports the tasks that were opened in at most 31 days. */
export const exportTasks = (call: ManagementCall, query: AccountTaskQuery) =>
  exportAll(call, query, buildTaskList(call, query));
