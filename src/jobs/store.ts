// Store of each job's latest run. A run is over when every part is reported done.
import { asc, eq, inArray, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, type Statement } from "../db/batch.ts";
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
  /** When the trigger looked. */
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

/** The earlier of the stored instant and another one. */
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
