// Store of each job's latest run, which is over when every part is reported done, and of the lag of the outbox and the webhooks.
import { asc, eq, inArray, type SQL, sql } from "drizzle-orm";
import { decodeIdInstant } from "../core/ids.ts";
import { type Database, type Read, read, readAll, type Statement } from "../db/batch.ts";
import { type JobRow, jobs } from "../db/tables/journal.ts";

export const findJobs = (db: Database, names: readonly string[]): Read<JobRow[]> =>
  readAll(
    db
      .select()
      .from(jobs)
      .where(inArray(jobs.name, [...names])),
  );

export const listJobs = (db: Database): Read<JobRow[]> => readAll(db.select().from(jobs).orderBy(asc(jobs.name)));

type Run = Partial<Pick<Progress, "done" | "failed" | "oldestDueAt" | "lastError">> & {
  readonly at: number;
  readonly found: number;
  /** Parts that were sent to the queue; a run without parts is over. */
  readonly pending?: number;
};

/** Begins a run. Only the last error is kept from the run before. A late trigger does not overwrite the row of the next one. */
export function putRun(db: Database, name: string, run: Run): Statement {
  const { at, found, pending = 0, done = 0, failed = 0, oldestDueAt = null, lastError = null } = run;
  const set = {
    ...{ startedAt: at, progressedAt: Date.now(), finishedAt: pending === 0 ? Date.now() : null },
    ...{ oldestDueAt, found, pending, done, failed },
    ...(lastError !== null && { lastError, lastErrorAt: at }),
  };
  return db
    .insert(jobs)
    .values({ name, ...set })
    .onConflictDoUpdate({ target: jobs.name, set, setWhere: sql`${jobs.startedAt} <= ${at}` });
}

const selectEarlierDue = (at: number): SQL => sql`min(coalesce(${jobs.oldestDueAt}, ${at}), ${at})`;

/** Notes the oldest due row that was found outside the job's own run. */
export const recordOldestDue = (db: Database, name: string, at: number): Statement =>
  db
    .update(jobs)
    .set({ oldestDueAt: selectEarlierDue(at) })
    .where(eq(jobs.name, name));

export type Progress = {
  readonly at: number;
  readonly done: number;
  readonly failed: number;
  /** The parts that this message adds, minus the part that it reports done. */
  readonly pending: number;
  readonly found: number;
  readonly oldestDueAt: number | null;
  readonly lastError: string | null;
};

export const recordProgress = (db: Database, name: string, progress: Progress): Statement => {
  const { at, done, failed, pending, found, oldestDueAt, lastError } = progress;
  const left = sql`max(0, ${jobs.pending} + ${pending})`;
  return db
    .update(jobs)
    .set({
      progressedAt: at,
      finishedAt: sql`case when ${left} = 0 then ${at} end`,
      pending: left,
      found: sql`${jobs.found} + ${found}`,
      done: sql`${jobs.done} + ${done}`,
      failed: sql`${jobs.failed} + ${failed}`,
      ...(oldestDueAt !== null && { oldestDueAt: selectEarlierDue(oldestDueAt) }),
      ...(lastError !== null && { lastError, lastErrorAt: at }),
    })
    .where(eq(jobs.name, name));
};

/** `oldestAt`: when the first unprocessed event was written, by the clock of its change. */
export type EventLag = { readonly waiting: number; readonly oldestAt: number | null };

/** The number up to which both the outbox and the webhooks have processed events; 0 if either has never run. */
const PROCESSED_TO = sql`(select case when count(*) = 2 then min(seq) else 0 end as followed from outbox where name in ('all', 'webhooks'))`;

/** Subtracts the events' numbers, which have no gaps, because a refused batch uses up none. */
export const findEventLag = (db: Database, now: number): Read<EventLag> =>
  read(
    db
      .select({
        waiting: sql<number>`coalesce((select max(seq) from events), 0) - followed`.as("waiting"),
        oldest: sql<string | null>`(select id from events not indexed where seq > followed order by seq limit 1)`.as(
          "oldest",
        ),
      })
      .from(PROCESSED_TO),
    ([row]) => ({
      waiting: Math.max(0, row?.waiting ?? 0),
      oldestAt: row?.oldest == null ? null : Math.min(decodeIdInstant("evt", row.oldest) ?? now, now),
    }),
  );
