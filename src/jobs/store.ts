// Store of each job's latest run. A run is over when every part is reported done.
import { asc, eq, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { type JobRow, jobs } from "../db/tables/journal.ts";

export const findJob = (db: Database, name: string): Read<JobRow | null> =>
  readOne(db.select().from(jobs).where(eq(jobs.name, name)));

export const listJobs = (db: Database): Read<JobRow[]> => readAll(db.select().from(jobs).orderBy(asc(jobs.name)));

type Run = {
  readonly startedAt: number;
  readonly found: number;
  readonly pending: number;
  readonly oldestDueAt: number | null;
};

/** Begins a run with counts of zero. */
export const beginRun = (db: Database, name: string, { startedAt, found, pending, oldestDueAt }: Run): Statement => {
  const set = {
    startedAt,
    progressedAt: startedAt,
    finishedAt: pending === 0 ? startedAt : null,
    oldestDueAt,
    found,
    pending,
    done: 0,
    failed: 0,
  };
  return db
    .insert(jobs)
    .values({ name, ...set })
    .onConflictDoUpdate({ target: jobs.name, set });
};

/** The earlier of what is known and an instant. */
const earlier = (at: number): SQL => sql`min(coalesce(${jobs.oldestDueAt}, ${at}), ${at})`;

/** What has been due for longest, found beside the job's own run. */
export const noteOldest = (db: Database, name: string, at: number): Statement =>
  db
    .update(jobs)
    .set({ oldestDueAt: earlier(at) })
    .where(eq(jobs.name, name));

export type Progress = {
  readonly at: number;
  readonly done: number;
  readonly failed: number;
  /** New parts of this message, less the part that it reports done. */
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
      ...(oldestDueAt !== null && { oldestDueAt: earlier(oldestDueAt) }),
      ...(lastError !== null && { lastError, lastErrorAt: at }),
    })
    .where(eq(jobs.name, name));
};
