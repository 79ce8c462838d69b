// Performance tasks as stored. Agents of two platforms share one, so a read takes no Scope: who asks is checked as a party.
import { and, asc, eq, lte, type SQL, sql } from "drizzle-orm";
import type { Move } from "../core/machine.ts";
import { columnsOf, type Database, mustChange, type Read, read, readOne, type Statement } from "../db/batch.ts";
import { tasks, transactions } from "../db/tables.ts";
import type { TaskStatus } from "./states.ts";

export type TaskRow = typeof tasks.$inferSelect;
export type TransactionRow = typeof transactions.$inferSelect;
export type TaskWithTransaction = { task: TaskRow; transaction: TransactionRow };

export const findTask = (db: Database, taskId: string): Read<TaskWithTransaction | null> =>
  readOne(
    db
      .select({ task: columnsOf(tasks, "t"), transaction: columnsOf(transactions, "x") })
      .from(tasks)
      .innerJoin(transactions, eq(transactions.transactionId, tasks.transactionId))
      .where(eq(tasks.taskId, taskId)),
  );

/** A party of a task as an expression, for reads in the trip that finds the task. */
export const partyOf = (taskId: string, side: "provider" | "consumer"): SQL<string> =>
  side === "provider"
    ? sql<string>`(select provider_did from tasks where task_id = ${taskId})`
    : sql<string>`(select consumer_did from tasks where task_id = ${taskId})`;

/** The principal that answers for a party of a task, as an expression. */
export const principalOfParty = (taskId: string, side: "provider" | "consumer"): SQL<string> =>
  sql<string>`(select principal_id from agents where did = ${partyOf(taskId, side)})`;

/** Open tasks whose window is over, those longest over first. */
export const findDueTasks = (db: Database, now: number, slice: number): Read<string[]> =>
  read(
    db
      .select({ taskId: tasks.taskId })
      .from(tasks)
      .where(and(sql`status = 'open'`, lte(tasks.confirmBy, now)))
      .orderBy(asc(tasks.confirmBy))
      .limit(slice),
    (rows) => rows.map((row) => row.taskId),
  );

export const insertTask = (db: Database, row: typeof tasks.$inferInsert): Statement => db.insert(tasks).values(row);

export const moveTask = (
  db: Database,
  taskId: string,
  { from, to }: Move<TaskStatus>,
  set: Pick<TaskRow, "outcome" | "score" | "note" | "closedAt">,
): Statement[] =>
  mustChange(
    db,
    db
      .update(tasks)
      .set({ ...set, status: to })
      .where(and(eq(tasks.taskId, taskId), eq(tasks.status, from))),
  );
