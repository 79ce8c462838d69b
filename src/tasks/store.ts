// Store of tasks. Agents of two platforms share a task, so a read takes no Tenant: the caller is checked as a party.
import { and, asc, eq, isNull, lte, type SQL, sql } from "drizzle-orm";
import type { AgentCall, ManagementCall } from "../call.ts";
import type { Due } from "../core/clock.ts";
import type { Move } from "../core/machine.ts";
import type { Environment, Side, TaskStatus } from "../core/vocabulary.ts";
import {
  aliasColumns,
  type Database,
  mustChange,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import {
  selectConsumersOffset,
  selectConsumersOffsetForCaller,
  selectProvidersOffset,
  type Timed,
  type TimedFor,
  type WithProviderOffset,
} from "../db/clock.ts";
import { compileGiven, compileInsert } from "../db/compiled.ts";
import { isOneOf } from "../db/lists.ts";
import { SIDE_COLUMNS } from "../db/parts.ts";
import { type TaskRow, type TransactionRow, tasks, transactions } from "../db/tables/money.ts";
import { countOpenIntents, hasOpenIntent, type OpenAt } from "../intents/list-store.ts";

export type TaskWithTransaction = { task: TaskRow; transaction: TransactionRow };

const taskColumns = aliasColumns(tasks, "t");
const transactionColumns = aliasColumns(transactions, "x");

/**
 * Reads a task with the clocks of its consumer's platform, which rules it (ACC-9), and its provider's, which dates the provider's signal (TSK-18).
 */
export const findTask = (db: Database, taskId: TaskRef): Read<TaskOfTwoClocks | null> =>
  readOne(selectTasks(db, eq(tasks.taskId, taskId)));

/** Like findTask, for several tasks. `taskIds`: JSON. */
export const findTasks = (db: Database, taskIds: SQL<string>): Read<TaskOfTwoClocks[]> =>
  readAll(selectTasks(db, isOneOf(sql`tasks.task_id`, taskIds)));

export type TaskOfTwoClocks = Timed<TaskWithTransaction> & WithProviderOffset;

const selectTasks = (db: Database, where: SQL) =>
  db
    .select({
      task: taskColumns,
      transaction: transactionColumns,
      clockOffsetMs: selectConsumersOffset(transactions),
      providerOffsetMs: selectProvidersOffset(transactions),
    })
    .from(tasks)
    .innerJoin(transactions, eq(transactions.transactionId, tasks.transactionId))
    .where(where);

/** Like findTask, for an agent that may be the task's consumer. */
export const findTaskFor = (db: Database, taskId: string, caller: string): Read<TimedFor<TaskWithTransaction> | null> =>
  readOne(
    db
      .select({
        task: taskColumns,
        transaction: transactionColumns,
        clockOffsetMs: selectConsumersOffsetForCaller(caller, transactions),
      })
      .from(tasks)
      .innerJoin(transactions, eq(transactions.transactionId, tasks.transactionId))
      .where(eq(tasks.taskId, taskId)),
  );

/** A task's id, or an SQL expression of it for reads in the trip that finds the task. */
export type TaskRef = string | SQL<string>;

/** A party of a task as an SQL expression, for reads in the trip that finds the task. */
export const selectTaskParty = (taskId: TaskRef, side: "provider" | "consumer"): SQL<string> =>
  side === "provider"
    ? sql<string>`(select provider_did from tasks where task_id = ${taskId})`
    : sql<string>`(select consumer_did from tasks where task_id = ${taskId})`;

/** A party of a task and the environment that it is rated in, as one SQL expression. */
export const selectRatedSide = (taskId: TaskRef, side: "provider" | "consumer"): SQL =>
  side === "provider"
    ? sql`(select provider_did, environment from tasks where task_id = ${taskId})`
    : sql`(select consumer_did, environment from tasks where task_id = ${taskId})`;

/** Adds the principal under which the party is rated: the other side's at the settlement, or the one under which the task's end has rated it. */
export const selectRatedPair = (taskId: TaskRef, side: "provider" | "consumer"): SQL =>
  side === "provider"
    ? sql`(select provider_did, environment, coalesce(provider_rated_by, consumer_principal_id) from tasks where task_id = ${taskId})`
    : sql`(select consumer_did, environment, coalesce(consumer_rated_by, provider_principal_id) from tasks where task_id = ${taskId})`;

/** The rated pairs of several tasks, as a subquery with the columns `did`, `environment` and `principal_id`. `taskIds`: JSON. */
export const selectRatedPairs = (taskIds: SQL<string>, side: "provider" | "consumer"): SQL =>
  side === "provider"
    ? sql`(select provider_did as did, environment, coalesce(provider_rated_by, consumer_principal_id) as principal_id
        from tasks where ${isOneOf(sql`tasks.task_id`, taskIds)})`
    : sql`(select consumer_did as did, environment, coalesce(consumer_rated_by, provider_principal_id) as principal_id
        from tasks where ${isOneOf(sql`tasks.task_id`, taskIds)})`;

/** The principals under which a task that was read rates its sides. */
export const pickCounterpartyPrincipals = ({ providerRatedBy, consumerRatedBy, ...at }: TaskRow) => ({
  provider: providerRatedBy ?? at.consumerPrincipalId,
  consumer: consumerRatedBy ?? at.providerPrincipalId,
});

/** Finds open tasks whose window has ended, the earliest end first. */
export const findDueTasks = (db: Database, now: number, after: Due, limit: number): Read<Due[]> =>
  readAll(
    db
      .select({ at: tasks.confirmBy, id: tasks.taskId })
      .from(tasks)
      .where(
        and(
          // Literal text, so that SQLite uses the partial index.
          sql`status = 'open'`,
          lte(tasks.confirmBy, now),
          sql`(${tasks.confirmBy}, ${tasks.taskId}) > (${after.at}, ${after.id})`,
        ),
      )
      .orderBy(asc(tasks.confirmBy), asc(tasks.taskId))
      .limit(limit),
  );

// ---- Changes ---------------------------------------------------------------------------------------------------------------

export const insertTask = compileInsert((db) => db.insert(tasks));

type ClosedColumn =
  | "verdict"
  | "verdictScore"
  | "heldMs"
  | "confirmBy"
  | "answer"
  | "outcome"
  | "score"
  | "note"
  | "closedAt"
  | "providerRatedBy"
  | "consumerRatedBy"
  | "providerRatedAt";

export const moveTask = (
  db: Database,
  taskId: string,
  { from, to }: Move<TaskStatus>,
  set: Partial<Pick<TaskRow, ClosedColumn>>,
): Statement[] => mustChange(db, updateTask(db, { ...set, taskId, from, status: to }));

type TaskChange = Partial<TaskRow> & Pick<TaskRow, "taskId"> & { readonly from: TaskStatus };
const updateTask = compileGiven<TaskChange>((db, { taskId, from, ...set }) =>
  db
    .update(tasks)
    .set(set)
    .where(and(eq(tasks.taskId, taskId), eq(tasks.status, from))),
);

/** Records the end of a dispute about a closed task. Aborts the batch if the verdict has changed since it was read. */
export const setVerdict = (
  db: Database,
  before: TaskRow,
  set: Partial<Pick<TaskRow, Exclude<ClosedColumn, "heldMs" | "confirmBy" | "note" | "closedAt">>>,
): Statement[] =>
  mustChange(
    db,
    db
      .update(tasks)
      .set(set)
      .where(
        and(
          eq(tasks.taskId, before.taskId),
          eq(tasks.status, before.status),
          before.verdict === null ? isNull(tasks.verdict) : eq(tasks.verdict, before.verdict),
        ),
      ),
  );

// ---- Open intents and tasks ------------------------------------------------------------------------------------------------

type Party = { readonly did: string; readonly environment: Environment };

/** Counts the intents and tasks that an agent has open at an instant, on either side (AGT-35): each up to `most`. */
export const findOpen = (db: Database, of: Party, at: OpenAt, most: number): Read<{ intents: number; tasks: number }> =>
  read(
    db
      .select({
        intents: countOpenIntents(of, at, most).as("intents"),
        tasks: countOpenTasks(of, at, most).as("tasks"),
      })
      .from(sql`(select 1)`),
    ([row]) => row ?? { intents: 0, tasks: 0 },
  );

/** A condition: the agent has no open intent and no open task (AGT-34). */
export const hasNothingOpen = (of: Party, at: OpenAt): SQL =>
  sql`not ${hasOpenIntent(of, at)} and ${countOpenTasks(of, at, 1)} = 0`;

const countOpenTasks = ({ did, environment }: Party, { now, real = now }: OpenAt, most: number): SQL<number> => {
  const open = (
    side: SQL,
    from: number,
  ) => sql`select 1 from tasks where ${side} = ${did} and environment = ${environment}
      and answer is null and confirm_by > ${from} and status = 'open'`;
  const each = [
    open(SIDE_COLUMNS.consumer, now),
    sql`${open(SIDE_COLUMNS.provider, real)} and confirm_by > ${selectRulingNow({ own: now, real })}`,
  ];
  return sql<number>`(select count(*) from (${sql.join(each, sql` union all `)} limit ${most}))`;
};

// ---- Clocks ----------------------------------------------------------------------------------------------------------------

/**
 * Epoch milliseconds: `own` is the asking agent's clock, `real` is real time. A bought task goes by the clock of the agent's own platform, a sold one
 * by the clock of the buyer's platform (ACC-9). No clock is behind real time.
 */
export type Clocks = { readonly own: number; readonly real: number };

export const readClocks = ({ now, deps }: AgentCall | ManagementCall): Clocks => ({
  own: now,
  real: Math.min(now, deps.clock.now()),
});

/** A task with the offset of the clock that rules it; null where the asking agent's clock does. */
export type ClockedTask = TaskRow & { readonly clockOffsetMs: number | null };

export const computeTaskNow = ({ own, real }: Clocks, { clockOffsetMs }: ClockedTask): number =>
  clockOffsetMs === null ? own : real + clockOffsetMs;

const RULING_OFFSET = sql`(select p.clock_offset_ms from platforms p where p.platform_id = ruled_by)`;

/** The present instant on the clock that rules a task of a provider. */
export const selectRulingNow = ({ own, real }: Clocks): SQL =>
  sql`case when ruled_by is null then ${own} else ${real} + ${RULING_OFFSET} end`;

/** The offset of the ruling clock, or null where the asking agent's clock rules, as it always does for tasks that the agent bought. */
export const selectRulingOffset = (side: Side): SQL<number | null> =>
  side === "consumer"
    ? sql<number | null>`null`
    : sql<number | null>`case when ruled_by is null then null else ${RULING_OFFSET} end`;
