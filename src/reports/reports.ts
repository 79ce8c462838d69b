// Reports to a platform: the overview of an agent (AGT-35), its lists (AGT-36, AGT-37), and the lists of all agents of an account by page or as
// CSV (FAC-19, DSP-9, TSK-19). An agent gets its own tasks and disputes (TSK-20, DSP-9).
import { toEscrowView } from "../agents/read.ts";
import { type AgentCall, type ManagementCall, readPage } from "../call.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { readSlices, toExportedRange } from "../core/export.ts";
import { OPEN_COUNTED_MAX, RECENT_EVENTS } from "../core/limits.ts";
import { type AskedRows, type FoundRows, hashListing, type Page, type Position, toPage } from "../core/page.ts";
import { SIDES, type Side } from "../core/vocabulary.ts";
import { type Read, readBatch } from "../db/batch.ts";
import type { Tenant } from "../db/statement.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import { type ListedDispute, listAccountDisputes, listOwnDisputes, toDisputePosition } from "../disputes/list-store.ts";
import type { DisputeQuery, DisputeView } from "../disputes/schema.ts";
import { toDisputePage, toDisputeView } from "../disputes/views.ts";
import { pickWorstEscrowState } from "../escrow/states.ts";
import type { TransactionView } from "../facilitation/responses.ts";
import { listAccountTransactions, listTransactions } from "../facilitation/store.ts";
import { toTransactionView } from "../facilitation/views.ts";
import { toPerformance } from "../identity/aid.ts";
import { type AgentWithPrincipal, findEscrows } from "../identity/store.ts";
import { findEventNumber, listEvents } from "../journal/event-log-store.ts";
import { computeOldestListed, toEventView } from "../journal/event-read.ts";
import type { EventView } from "../journal/responses.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { buildTaskReads, type ListedTask, listAccountTasks, mergeTasks } from "../tasks/list-store.ts";
import { toTaskPage, toTaskView } from "../tasks/read.ts";
import type { TaskView } from "../tasks/responses.ts";
import { findOpen, readClocks } from "../tasks/store.ts";
import type { OverviewView } from "./responses.ts";
import type { AccountTaskQuery, ReportQuery, TaskQuery, TransactionQuery } from "./schema.ts";
import { findReported } from "./store.ts";

// ---- One agent -----------------------------------------------------------------------------------------------------------

export const findNamedReported = ({ db, tenant }: ManagementCall, { did }: { did: string }) =>
  findReported(db, tenant, did);

/** One trip, whose rows do not grow with the agent's history. */
export async function getOverview(call: ManagementCall<AgentWithPrincipal>, did: string): Promise<OverviewView> {
  const { db, tenant, now, deps } = call;
  const { environment } = tenant;
  // A page reads one row more than its limit.
  const newest = { limit: RECENT_EVENTS - 1, after: null, first: computeOldestListed(deps.clock.now()) };
  const { object, escrows, open, events } = await call.read({
    escrows: findEscrows(db, did, environment),
    open: findOpen(db, { did, environment }, { now, real: readClocks(call).real }, OPEN_COUNTED_MAX),
    events: listEvents(db, tenant, { subject: did }, newest),
  });
  const { agent } = object;
  // The rating at this instant, as in the management view (AGT-12).
  const agentRating = computeRatingFromRow(agent, pickRatingMethod(deps.env, environment), now);
  return {
    did,
    performance: toPerformance(deps.config, { ...agent, agentRating }, now),
    escrow_state: pickWorstEscrowState(agent.economicRole, escrows),
    escrow: escrows.map((escrow) => toEscrowView(deps.config, escrow)),
    open: { ...open, disputes: agent.disputesOpen },
    recent_events: events.rows.map(toEventView),
  };
}

export async function getAgentTasks(call: ManagementCall, did: string, query: TaskQuery): Promise<Page<TaskView>> {
  const { db, deps, environment } = call;
  const { status, outcome, since } = query;
  const filter = { status, outcome, since };
  const page = await readPage(call, query, hashListing("agent tasks", [environment, did], filter));
  const clocks = readClocks(call);
  const found = await call.read(buildTaskReads(db, { did, environment, sides: SIDES }, filter, clocks, page));
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

// ---- All transactions of an account --------------------------------------------------------------------------------------

const toTransactionPosition = ({ settledAt, transactionId }: TransactionRow): Position => ({
  at: settledAt,
  id: transactionId,
});

const buildTransactionList = (
  { db, deps }: ManagementCall,
  query: TransactionQuery,
): AccountList<TransactionRow, TransactionView> => ({
  list: (owner, range, page) => listAccountTransactions(db, owner, { ...toAccountFilter(query), ...range }, page),
  positionOf: toTransactionPosition,
  toView: (transaction) => toTransactionView(deps.config, transaction),
});

export const getTransactions = (call: ManagementCall, query: TransactionQuery): Promise<Page<TransactionView>> =>
  answerAccountPage(call, "transactions", query, buildTransactionList(call, query));

/** Exports the transactions of at most 31 days. */
export const exportTransactions = (call: ManagementCall, query: TransactionQuery) =>
  exportAll(call, query, buildTransactionList(call, query));

// ---- Disputes: an agent's own, or all of an account ----------------------------------------------------------------------

export const getDisputes = (call: AgentCall | ManagementCall, query: DisputeQuery): Promise<Page<DisputeView>> =>
  call.surface === "agent"
    ? getOwnDisputes(call, query)
    : answerAccountPage(call, "disputes", query, buildDisputeList(call, query));

async function getOwnDisputes(call: AgentCall, query: DisputeQuery): Promise<Page<DisputeView>> {
  const { db, deps, did } = call;
  const { did: asked, ...filter } = toAccountFilter(query);
  refuseOtherAgent(did, asked, "disputes");
  const page = await readPage(call, query, hashListing("own disputes", [did], filter));
  const real = deps.clock.now();
  const { found } = await call.read({ found: listOwnDisputes(db, did, filter, real, page) });
  return toDisputePage(deps.config, found, page, real);
}

function buildDisputeList({ db, deps }: ManagementCall, query: DisputeQuery): AccountList<ListedDispute, DisputeView> {
  const real = deps.clock.now();
  return {
    list: (owner, range, page) => listAccountDisputes(db, owner, { ...toAccountFilter(query), ...range }, real, page),
    positionOf: toDisputePosition,
    toView: (row) => toDisputeView(deps.config, row, real + row.clockOffsetMs),
  };
}

/** Exports the disputes that were filed in at most 31 days. */
export const exportDisputes = (call: ManagementCall, query: DisputeQuery) =>
  exportAll(call, query, buildDisputeList(call, query));

// ---- Tasks: an agent's own, or all of an account -------------------------------------------------------------------------

export const getTasks = (call: AgentCall | ManagementCall, query: AccountTaskQuery): Promise<Page<TaskView>> =>
  call.surface === "agent"
    ? getOwnTasks(call, query)
    : answerAccountPage(call, "tasks", query, buildTaskList(call, query));

async function getOwnTasks(call: AgentCall, query: AccountTaskQuery): Promise<Page<TaskView>> {
  const { db, deps, did } = call;
  const { did: asked, role, ...filter } = toAccountFilter(query);
  refuseOtherAgent(did, asked, "tasks");
  const page = await readPage(call, query, hashListing("own tasks", [did], { role, ...filter }));
  const clocks = readClocks(call);
  const sides = role === undefined ? SIDES : [role];
  const found = await call.read(buildTaskReads(db, { did, environment: null, sides }, filter, clocks, page));
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

/** Exports the tasks that were opened in at most 31 days. */
export const exportTasks = (call: ManagementCall, query: AccountTaskQuery) =>
  exportAll(call, query, buildTaskList(call, query));

function refuseOtherAgent(did: string, asked: string | undefined, what: string): void {
  if (asked === undefined || asked === did) return;
  throw toValidationError([toFieldError("did", "invalid_value", `An agent can list only its own ${what}.`)]);
}

// ---- Pages and exports of an account's lists -----------------------------------------------------------------------------

type ExportQuery = {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly cursor?: string | undefined;
};
type Range = Pick<ExportQuery, "since" | "until">;
type AccountList<Row, View> = {
  /** Lists up to one row more than the limit, or the rows that a scan has found. */
  readonly list: (owner: Tenant, range: Range, page: AskedRows) => Read<FoundRows<Row>>;
  readonly positionOf: (row: Row) => Position;
  readonly toView: (row: Row) => View;
};

type AccountQuery<S = string> = Range & {
  readonly did?: string | undefined;
  readonly role?: Side | undefined;
  readonly status?: S | undefined;
};

const toAccountFilter = <S>({ did, role, status, since, until }: AccountQuery<S>) => ({
  did,
  role,
  status,
  since,
  until,
});

async function answerAccountPage<Row, View>(
  call: ManagementCall,
  name: string,
  query: AccountQuery & { readonly limit: number; readonly cursor?: string | undefined },
  { list, positionOf, toView }: AccountList<Row, View>,
): Promise<Page<View>> {
  const page = await readPage(call, query, hashListing(name, [call.environment], toAccountFilter(query)));
  const { found } = await call.read({ found: list(call.tenant, query, page) });
  return toPage(found, page, positionOf, toView);
}

const EXPORT_SLICE = 500;

/** For a range of time, newest first, slice by slice (HTTP-37). */
async function exportAll<Row, View>(
  call: ManagementCall,
  query: ExportQuery,
  { list, positionOf, toView }: AccountList<Row, View>,
): Promise<AsyncIterator<readonly View[]>> {
  const { db, now, environment } = call;
  const { caller } = await call.read({});
  const { from, to } = toExportedRange({ from: query.since, to: query.until, cursor: query.cursor }, now, "since");
  const owner = { platformId: caller.platformId, environment };
  return readSlices(async (after: Position | null) => {
    const { found } = await readBatch(db, {
      found: list(owner, { since: from, until: to }, { limit: EXPORT_SLICE, after }),
    });
    const rows = found.rows.slice(0, EXPORT_SLICE);
    const last = found.rows.length > rows.length ? rows.at(-1) : found.end;
    return { rows: rows.map(toView), next: last ? positionOf(last) : null };
  });
}
