// Lists of tasks: an agent's own (TSK-20), and those of all agents of an account by page or as CSV (TSK-19).
import { type AgentCall, type ManagementCall, readPage } from "../call.ts";
import { toFieldError, toValidationError } from "../core/errors.ts";
import { hashListing, type Page, type Position, toPage } from "../core/page.ts";
import { SIDES } from "../core/vocabulary.ts";
import { type AccountTaskFilter, type ListedTask, listAccountTasks } from "../tasks/account-list-store.ts";
import { readClocks } from "../tasks/clocks.ts";
import { buildTaskReads, mergeTasks } from "../tasks/list-store.ts";
import type { TaskView } from "../tasks/responses.ts";
import { toTaskPage, toTaskView } from "../tasks/views.ts";
import { exportAll } from "./export.ts";
import type { AccountTaskQuery } from "./schema.ts";

const toTaskFilter = ({ did, role, status, since, until }: AccountTaskQuery): AccountTaskFilter => ({
  did,
  role,
  status,
  since,
  until,
});

/** The credential of the call decides which list it gets. */
export const getTasks = (call: AgentCall | ManagementCall, query: AccountTaskQuery): Promise<Page<TaskView>> =>
  call.surface === "agent" ? getOwnTasks(call, query) : getAccountTasks(call, query);

async function getOwnTasks(call: AgentCall, query: AccountTaskQuery): Promise<Page<TaskView>> {
  const { db, deps, did } = call;
  const { did: asked, role, ...filter } = toTaskFilter(query);
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

const toTaskPosition = ({ settledAt, settlementId }: ListedTask): Position => ({ at: settledAt, id: settlementId });

async function getAccountTasks(call: ManagementCall, query: AccountTaskQuery): Promise<Page<TaskView>> {
  const { db, tenant, deps, environment } = call;
  const filter = toTaskFilter(query);
  const page = await readPage(call, query, hashListing("tasks", [environment], filter));
  const real = deps.clock.now();
  const { tasks } = await call.read({ tasks: listAccountTasks(db, tenant, filter, real, page) });
  return toPage(
    tasks.rows,
    page,
    toTaskPosition,
    (task) => toTaskView(deps.config, task, real + task.clockOffsetMs),
    tasks.end,
  );
}

/** Exports the tasks that were opened in at most 31 days. */
export function exportTasks(
  call: ManagementCall,
  query: AccountTaskQuery,
): Promise<AsyncIterator<readonly TaskView[]>> {
  const { db, deps } = call;
  const real = deps.clock.now();
  return exportAll(call, query, {
    list: (owner, range, page) => listAccountTasks(db, owner, { ...toTaskFilter(query), ...range }, real, page),
    positionOf: toTaskPosition,
    toView: (task) => toTaskView(deps.config, task, real + task.clockOffsetMs),
  });
}
