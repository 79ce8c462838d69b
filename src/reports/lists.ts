// The lists of an agent's tasks, transactions and events (AGT-36, AGT-37).
import { type ManagementCall, readPage } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import { hashListing, type Page, toPage } from "../core/page.ts";
import { SIDES } from "../core/vocabulary.ts";
import { listTransactions } from "../facilitation/list-store.ts";
import type { TransactionView } from "../facilitation/responses.ts";
import { toTransactionView } from "../facilitation/views.ts";
import { findEventNumber, listEvents } from "../journal/event-log-store.ts";
import { computeOldestListed, toEventView } from "../journal/event-views.ts";
import type { EventView } from "../journal/responses.ts";
import { readClocks } from "../tasks/clocks.ts";
import { buildTaskReads, mergeTasks } from "../tasks/list-store.ts";
import type { TaskView } from "../tasks/responses.ts";
import { toTaskPage } from "../tasks/views.ts";
import { toTransactionPosition } from "./account.ts";
import type { ReportQuery, TaskQuery } from "./schema.ts";
import { findReported } from "./store.ts";

export const findNamedReported = ({ db, tenant }: ManagementCall, { did }: { did: string }) =>
  findReported(db, tenant, did);

export async function getAgentTasks(call: ManagementCall, did: string, query: TaskQuery): Promise<Page<TaskView>> {
  const { db, deps, environment } = call;
  const { status, outcome, since } = query;
  const filter = { status, outcome, since };
  const page = await readPage(call, query, hashListing("agent tasks", [environment, did], filter));
  const clocks = readClocks(call);
  const found = await call.read(buildTaskReads(db, SIDES, { did, environment }, filter, clocks, page));
  return toTaskPage(deps.config, mergeTasks(found), page, clocks);
}

export async function getAgentTransactions(
  call: ManagementCall,
  did: string,
  query: ReportQuery,
): Promise<Page<TransactionView>> {
  const { db, deps, environment } = call;
  const page = await readPage(call, query, hashListing("agent transactions", [environment, did], {}));
  const { transactions } = await call.read({ transactions: listTransactions(db, { did, environment }, page) });
  return toPage(transactions, page, toTransactionPosition, (transaction) =>
    toTransactionView(deps.config, transaction),
  );
}

export async function getAgentEvents(call: ManagementCall, did: string, query: ReportQuery): Promise<Page<EventView>> {
  const { db, tenant, deps, environment } = call;
  const page = await readPage(call, query, hashListing("agent events", [environment, did], {}));
  // Retention counts in real time, whatever the sandbox clock says.
  const first = computeOldestListed(deps.clock.now());
  const after = page.after?.id ?? null;
  const { events, at } = await call.read({
    events: listEvents(db, tenant, { subject: did }, { limit: page.limit, after, first }),
    ...(after !== null && { at: findEventNumber(db, tenant, after, first) }),
  });
  if (after !== null && at === null) throw new ServiceError("cursor_expired");
  return toPage(events, page, ({ id }) => ({ at: 0, id }), toEventView);
}
