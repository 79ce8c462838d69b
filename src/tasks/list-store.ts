// Store of the list of an agent's tasks (AGT-36). Each answer is a range of the index of a side, and so is what has none: by the instant at
// which its window ends it is open or auto-confirmed, whether or not a job has recorded it (TSK-3).
import { and, type SQL, sql } from "drizzle-orm";
import { CONFIRMATION_WINDOW_HOURS, HOUR_MS } from "../core/limits.ts";
import type { Position } from "../core/page.ts";
import { type Environment, type Side, TASK_OUTCOMES, type TaskOutcome, type TaskStatus } from "../core/vocabulary.ts";
import { SIDE_COLUMNS } from "../db/account-ranges.ts";
import { type Database, type Read, readAll } from "../db/batch.ts";
import { bareColumns, below, pageOf } from "../db/pages.ts";
import { type TaskRow, tasks } from "../db/tables/money.ts";

export type TaskFilter = {
  readonly status?: TaskStatus | undefined;
  readonly outcome?: TaskOutcome | undefined;
  /** Epoch milliseconds, the first one that counts and the first one that does not. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

const shown = bareColumns(tasks);
const WINDOW_MS = CONFIRMATION_WINDOW_HOURS * HOUR_MS;
const ORDER = sql`confirm_by desc, task_id desc`;
/** `environment`: null for that of the agent. Null where no task can be what is asked for. D1 merges at most five ranges: each side has a read of its own. */
export const listTasks = (
  db: Database,
  side: Side,
  { did, environment }: { readonly did: string; readonly environment: Environment | null },
  filter: TaskFilter,
  now: number,
  page: { readonly limit: number; readonly after: Position | null },
): Read<TaskRow[]> | null => {
  const from = rangesOf(filter, now, page.after).map(
    (range) =>
      sql`tasks where ${and(sql`${SIDE_COLUMNS[side]} = ${did}`, sql`environment = ${environment ?? ownOf(did)}`, range)}`,
  );
  if (from.length === 0) return null;
  return readAll(db.select(shown).from(pageOf({ columns: shown, from, order: ORDER }, page.limit)));
};

const ownOf = (did: string): SQL => sql`(select a.environment from agents a where a.did = ${did})`;

/** What is asked for, as ranges of an answer: `after` and `by` bound the end of the window. */
type Answered = {
  readonly answer: TaskRow["answer"];
  readonly held?: boolean;
  readonly after?: number;
  readonly by?: number;
};

function answersOf({ status, outcome }: TaskFilter, now: number): Answered[] {
  const among = (one: TaskStatus) => status === undefined || status === one;
  const given = TASK_OUTCOMES.filter((answer) => among("confirmed") && (outcome ?? answer) === answer);
  if (status === "disputed") return outcome === undefined ? [{ answer: null, held: true }] : [];
  // Without a filter the held ones are among those that have no answer.
  const held = status === undefined && outcome === undefined ? {} : { held: false };
  const open = among("open") && outcome === undefined;
  const ended = among("auto_confirmed") && (outcome ?? "confirmed") === "confirmed";
  return [
    ...given.map((answer) => ({ answer })),
    ...(among("void") && outcome === undefined ? [{ answer: "void" } as const] : []),
    ...(open || ended
      ? [{ answer: null, ...held, ...(open ? {} : { by: now }), ...(ended ? {} : { after: now }) }]
      : []),
  ];
}

function rangesOf(filter: TaskFilter, now: number, after: Position | null): (SQL | undefined)[] {
  const { since, until } = filter;
  const began = since === undefined ? undefined : since + WINDOW_MS - 1;
  const before = until === undefined ? undefined : until + WINDOW_MS - 1;
  return answersOf(filter, now).map(({ answer, held, after: open, by: ended }) => {
    // One bound: of two, SQLite would compare the other row by row.
    const bounds = [open, began].filter((bound) => bound !== undefined);
    const ends = [ended, before].filter((end) => end !== undefined);
    const by = ends.length === 0 ? undefined : Math.min(...ends);
    return and(
      // Literal text, so that SQLite uses the partial index.
      held === true ? sql`status = 'disputed'` : answer === null ? sql`answer is null` : sql`answer = ${answer}`,
      held === false ? sql`status <> 'disputed'` : undefined,
      bounds.length === 0 ? undefined : sql`confirm_by > ${Math.max(...bounds)}`,
      below(sql`confirm_by`, sql`task_id`, after, by),
    );
  });
}
