// The lists of transactions of all agents of an account in the call's environment (FAC-19), by page or as CSV.
import { toEscrowView } from "../agents/read.ts";
import { type AgentCall, type ManagementCall, readPage } from "../call.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { readSlices, toExportedRange } from "../core/export.ts";
import { OPEN_COUNTED_MAX, RECENT_EVENTS } from "../core/limits.ts";
import {
  type AskedRows,
  type FoundRows,
  hashListing,
  type Listing,
  type Page,
  type Position,
  toPage,
} from "../core/page.ts";
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

export const toTransactionPosition = ({ settledAt, transactionId }: TransactionRow): Position => ({
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

export function getTransactions(call: ManagementCall, query: TransactionQuery): Promise<Page<TransactionView>> {
  const listing = hashListing("transactions", [call.environment], toAccountFilter(query));
  return answerAccountPage(call, query, listing, buildTransactionList(call, query));
}

/** Exports the transactions of at most 31 days. */
export const exportTransactions = (call: ManagementCall, query: TransactionQuery) =>
  exportAll(call, query, buildTransactionList(call, query));

// Lists of disputes (DSP-9): an agent's own, and those of all agents of an account by page or as CSV.

/** The credential of the call decides which list it gets. */
export const getDisputes = (call: AgentCall | ManagementCall, query: DisputeQuery): Promise<Page<DisputeView>> =>
  call.surface === "agent" ? getOwnDisputes(call, query) : getAccountDisputes(call, query);

async function getOwnDisputes(call: AgentCall, query: DisputeQuery): Promise<Page<DisputeView>> {
  const { db, deps, did } = call;
  const { did: asked, ...filter } = toAccountFilter(query);
  if (asked !== undefined && asked !== did) {
    const message = "An agent can list only its own disputes.";
    throw toValidationError([toFieldError("did", "invalid_value", message)]);
  }
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

function getAccountDisputes(call: ManagementCall, query: DisputeQuery): Promise<Page<DisputeView>> {
  const listing = hashListing("disputes", [call.environment], toAccountFilter(query));
  return answerAccountPage(call, query, listing, buildDisputeList(call, query));
}

/** Exports the disputes that were filed in at most 31 days. */
export const exportDisputes = (call: ManagementCall, query: DisputeQuery) =>
  exportAll(call, query, buildDisputeList(call, query));

// Lists of tasks: an agent's own (TSK-20), and those of all agents of an account by page or as CSV (TSK-19).

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

function getAccountTasks(call: ManagementCall, query: AccountTaskQuery): Promise<Page<TaskView>> {
  const listing = hashListing("tasks", [call.environment], toAccountFilter(query));
  return answerAccountPage(call, query, listing, buildTaskList(call, query));
}

/** Exports the tasks that were opened in at most 31 days. */
export const exportTasks = (call: ManagementCall, query: AccountTaskQuery) =>
  exportAll(call, query, buildTaskList(call, query));

// The overview of an agent (AGT-35), in one trip whose rows do not grow with the agent's history.

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

// The lists of an agent's tasks, transactions and events (AGT-36, AGT-37).

export const findNamedReported = ({ db, tenant }: ManagementCall, { did }: { did: string }) =>
  findReported(db, tenant, did);

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

// Lists of an account as data: each is answered by page, or exported for a range of time, newest first, slice by slice (HTTP-37).

type ExportQuery = {
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly cursor?: string | undefined;
};
type Range = Pick<ExportQuery, "since" | "until">;
export type AccountList<Row, View> = {
  /** Lists up to one row more than the limit, or the rows that a scan has found. */
  readonly list: (owner: Tenant, range: Range, page: AskedRows) => Read<FoundRows<Row>>;
  readonly positionOf: (row: Row) => Position;
  readonly toView: (row: Row) => View;
};

type AccountQuery = Range & { readonly did?: string | undefined; readonly role?: Side | undefined };

/** The filters that all lists of an account have. */
export const toAccountFilter = <S>({ did, role, status, since, until }: AccountQuery & { readonly status?: S }) => ({
  did,
  role,
  status,
  since,
  until,
});

export async function answerAccountPage<Row, View>(
  call: ManagementCall,
  query: Range & { readonly limit: number; readonly cursor?: string | undefined },
  listing: Listing,
  { list, positionOf, toView }: AccountList<Row, View>,
): Promise<Page<View>> {
  const page = await readPage(call, query, listing);
  const { found } = await call.read({ found: list(call.tenant, query, page) });
  return toPage(found, page, positionOf, toView);
}

const SLICE = 500;

export async function exportAll<Row, View>(
  call: ManagementCall,
  query: ExportQuery,
  { list, positionOf, toView }: AccountList<Row, View>,
): Promise<AsyncIterator<readonly View[]>> {
  const { db, now, environment } = call;
  const { caller } = await call.read({});
  const { from, to } = toExportedRange({ from: query.since, to: query.until, cursor: query.cursor }, now, "since");
  const owner = { platformId: caller.platformId, environment };
  return readSlices(async (after: Position | null) => {
    const { found } = await readBatch(db, { found: list(owner, { since: from, until: to }, { limit: SLICE, after }) });
    const rows = found.rows.slice(0, SLICE);
    const last = found.rows.length > rows.length ? rows.at(-1) : found.end;
    return { rows: rows.map(toView), next: last ? positionOf(last) : null };
  });
}
