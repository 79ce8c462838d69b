// Store of the lists of tasks: an agent's (AGT-36) and an account's (TSK-19). A task without an answer is open or auto-confirmed by the end of its
// window, whether or not a job has recorded it (TSK-3).
import { and, type SQL, sql } from "drizzle-orm";
import { CONFIRMATION_WINDOW_HOURS, HOUR_MS } from "../core/limits.ts";
import type { AskedRows, FoundRows, Position } from "../core/page.ts";
import { type Environment, type Side, TASK_OUTCOMES, type TaskOutcome, type TaskStatus } from "../core/vocabulary.ts";
import { type Database, dropAbsentReads, type Read, readAll } from "../db/batch.ts";
import { isBelow, readRanged, selectBareColumns, selectPage } from "../db/pages.ts";
import { type AccountFilter, buildAccountRanges, SIDE_COLUMNS } from "../db/parts.ts";
import type { Tenant } from "../db/statement.ts";
import { type TaskRow, tasks, transactions } from "../db/tables/money.ts";
import { type ClockedTask, type Clocks, selectRulingNow, selectRulingOffset } from "./store.ts";

export type TaskFilter = {
  readonly status?: TaskStatus | undefined;
  readonly outcome?: TaskOutcome | undefined;
  /** Epoch milliseconds: `since` is inclusive, `until` exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

const taskColumns = selectBareColumns(tasks);
const WINDOW_MS = CONFIRMATION_WINDOW_HOURS * HOUR_MS;
const ORDER = sql`confirm_by desc, task_id desc`;

/** `environment`: null for the agent's own. */
type ListedParty = {
  readonly did: string;
  readonly environment: Environment | null;
  readonly sides: readonly Side[];
};

/**
 * The reads of a page, none for a side without a match. Each filter becomes ranges of a side's index, one for each answer. D1 merges at most five
 * ranges, so early ends have a read of their own on each side.
 */
export const buildTaskReads = (db: Database, of: ListedParty, filter: TaskFilter, clocks: Clocks, page: AskedRows) => {
  const list = (side: Side, early: boolean) => {
    if (!of.sides.includes(side) || (early && of.environment === "production")) return null;
    const answers = toAnswerRanges(filter, pickWindowBound(side, clocks)).filter(
      ({ answer }) => (answer === "early") === early,
    );
    return listSide(db, side, of, toSqlRanges(filter, answers, side, clocks, page.after), page);
  };
  return dropAbsentReads({
    sold: list("provider", false),
    soldEarly: list("provider", true),
    bought: list("consumer", false),
    boughtEarly: list("consumer", true),
  });
};

/** Merges the tasks that the reads of a page found, in the order of the list. */
export const mergeTasks = (
  found: { readonly [K in keyof ReturnType<typeof buildTaskReads>]?: ClockedTask[] },
): ClockedTask[] =>
  [found.sold, found.soldEarly, found.bought, found.boughtEarly]
    .flatMap((rows) => rows ?? [])
    .sort((a, b) => b.confirmBy - a.confirmBy || (a.taskId < b.taskId ? 1 : -1));

/** The windows of sold tasks end on the buyers' clocks, none of which is behind real time. */
const pickWindowBound = (side: Side, { own, real }: Clocks): number => (side === "provider" ? real : own);

function listSide(
  db: Database,
  side: Side,
  { did, environment }: ListedParty,
  ranges: readonly (SQL | undefined)[],
  page: AskedRows,
): Read<ClockedTask[]> | null {
  if (ranges.length === 0) return null;
  const from = ranges.map(
    (range) =>
      sql`tasks where ${and(sql`${SIDE_COLUMNS[side]} = ${did}`, sql`environment = ${environment ?? selectOwnEnvironment(did)}`, range)}`,
  );
  const clockOffsetMs = selectRulingOffset(side).as("clock_offset_ms");
  return readAll(
    db
      .select({ ...taskColumns, clockOffsetMs })
      .from(selectPage({ columns: taskColumns, from, order: ORDER }, page.limit)),
  );
}

const selectOwnEnvironment = (did: string): SQL => sql`(select a.environment from agents a where a.did = ${did})`;

/** The filter as ranges of one answer: `after` and `by` bound the end of the window. */
type AnswerRange = {
  readonly answer: TaskRow["answer"];
  readonly held?: boolean;
  readonly after?: number;
  readonly by?: number;
};

function toAnswerRanges({ status, outcome }: TaskFilter, now: number): AnswerRange[] {
  const among = (one: TaskStatus) => status === undefined || status === one;
  const given = TASK_OUTCOMES.filter((answer) => among("confirmed") && (outcome ?? answer) === answer);
  if (status === "disputed") return outcome === undefined ? [{ answer: null, held: true }] : [];
  // Without a filter, the range of tasks without an answer includes the disputed ones.
  const held = status === undefined && outcome === undefined ? {} : { held: false };
  const open = among("open") && outcome === undefined;
  const ended = among("auto_confirmed") && (outcome ?? "confirmed") === "confirmed";
  return [
    ...given.map((answer) => ({ answer })),
    ...(among("void") && outcome === undefined ? [{ answer: "void" } as const] : []),
    ...(ended ? [{ answer: "early" } as const] : []),
    ...(open || ended
      ? [{ answer: null, ...held, ...(open ? {} : { by: now }), ...(ended ? {} : { after: now }) }]
      : []),
  ];
}

function toSqlRanges(
  { since, until }: TaskFilter,
  answers: readonly AnswerRange[],
  side: Side,
  clocks: Clocks,
  after: Position | null,
): (SQL | undefined)[] {
  const began = since === undefined ? undefined : since + WINDOW_MS - 1;
  const before = until === undefined ? undefined : until + WINDOW_MS - 1;
  return answers.map(({ answer, held, after: open, by: ended }) => {
    // A range has one lower bound: SQLite would compare a second one row by row.
    const bounds = [open, began].filter((bound) => bound !== undefined);
    const ends = [ended, before].filter((end) => end !== undefined);
    const by = ends.length === 0 ? undefined : Math.min(...ends);
    return and(
      // Literal text, so that SQLite uses the partial index.
      held === true ? sql`status = 'disputed'` : answer === null ? sql`answer is null` : sql`answer = ${answer}`,
      held === false ? sql`status <> 'disputed'` : undefined,
      bounds.length === 0 ? undefined : sql`confirm_by > ${Math.max(...bounds)}`,
      isBelow(sql`confirm_by`, sql`task_id`, after, by),
      // Excludes tasks whose window has ended on the buyer's clock, though no job has recorded it yet.
      open !== undefined && side === "provider" ? sql`confirm_by > ${selectRulingNow(clocks)}` : undefined,
    );
  });
}

// ---- An account's tasks ----------------------------------------------------------------------------------------------------

/** A row of the scan. The last row of a scan may have no task. */
export type ListedTask = TaskRow & {
  readonly settledAt: number;
  readonly settlementId: string;
  readonly clockOffsetMs: number;
};

export type AccountTaskFilter = AccountFilter & Omit<TaskFilter, "outcome">;

const [AT, ID] = [sql`settled_at`, sql`transaction_id`];
const settlementColumns = selectBareColumns(transactions);
const RANGE_COLUMNS = {
  transactionId: settlementColumns.transactionId,
  taskId: settlementColumns.taskId,
  environment: settlementColumns.environment,
  consumerPlatformId: settlementColumns.consumerPlatformId,
  settledAt: settlementColumns.settledAt,
};
/** Only a sandbox clock can be moved. */
const OFFSET = sql<number>`case when listed.environment = 'sandbox' then
  coalesce((select p.clock_offset_ms from platforms p where p.platform_id = listed.consumer_platform_id), 0) else 0 end`;
const SHOWN_COLUMNS = {
  ...selectBareColumns(tasks, "t"),
  settledAt: sql<number>`listed.settled_at`.as("listed_at"),
  settlementId: sql<string>`listed.transaction_id`.as("listed_id"),
  clockOffsetMs: OFFSET.as("clock_offset_ms"),
};

/**
 * Scans the settlements of the account's agents, the newest first, and joins each one's task in its state on the clock of its consumer's platform
 * (ACC-9). `now`: real time. A page by status scans at most as many settlements as any other page (db/pages.ts).
 */
export const listAccountTasks = (
  db: Database,
  tenant: Tenant,
  { status, since, until, ...whose }: AccountTaskFilter,
  now: number,
  page: AskedRows,
): Read<FoundRows<ListedTask>> => {
  const by = until === undefined ? undefined : until - 1;
  const bounds = and(since === undefined ? undefined : sql`${AT} >= ${since}`, isBelow(AT, ID, page.after, by));
  const from = buildAccountRanges(sql`transactions`, tenant, whose, bounds);
  const ranges = { columns: RANGE_COLUMNS, from, order: sql`settled_at desc, transaction_id desc` };
  const fits = and(sql`t.task_id is not null`, status === undefined ? undefined : hasEffectiveStatus(status, now));
  const joined = sql`left join tasks t on t.task_id = listed.task_id`;
  return readRanged(db, { ranges, shown: SHOWN_COLUMNS, joined, fits }, page.limit);
};

/** Selects tasks by effective status: an open task past its window counts as auto-confirmed, whether or not a job has recorded it (TSK-3). */
function hasEffectiveStatus(status: TaskStatus, now: number): SQL {
  const over = sql`t.confirm_by <= ${now} + ${OFFSET}`;
  if (status === "open") return sql`(t.status = 'open' and not (${over}))`;
  if (status === "auto_confirmed") return sql`(t.status = 'auto_confirmed' or (t.status = 'open' and ${over}))`;
  return sql`t.status = ${status}`;
}
