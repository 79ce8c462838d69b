// Starts jobs when a cron trigger fires (JOB-1, JOB-5, JOB-15). All jobs look for due rows in one trip. A job that finds rows writes its run and
// sends them to the queue; a job that finds none writes nothing.
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE, type Due } from "../core/clock.ts";
import { MINUTE_MS } from "../core/limits.ts";
import { commit, gatherFirstReads, readBatch } from "../db/batch.ts";
import type { JobRow } from "../db/tables/journal.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { toJobFailedAlert } from "./alerts.ts";
import type { Job, Slice } from "./job.ts";
import {
  type Counts,
  FOUND_AT_ONCE,
  logFailure,
  type QueuedJobMessage,
  raiseIfLate,
  recordPart,
  runSlices,
  sendAll,
  toMessages,
} from "./run.ts";
import { findJobs, putRun } from "./store.ts";

/** A run without progress for this long has lost a part, so the next trigger begins another run. */
const STALLED_MS = 5 * MINUTE_MS;
/** A trigger may come some seconds early. */
const HEARTBEAT_MS = 14.5 * MINUTE_MS;

/** `looking`: deps whose database sends the first reads of all jobs in one trip. `runs`: the latest runs by job or trigger, read in that trip. */
export type Look = { readonly looking: Deps; readonly runs: Promise<ReadonlyMap<string, JobRow>> };

export function beginLook(deps: Deps, names: readonly string[]): Look {
  const looking = { ...deps, db: gatherFirstReads(deps.db) };
  const read = readBatch(looking.db, { rows: findJobs(looking.db, names) });
  const runs = read.then(({ rows }) => new Map(rows.map((row) => [row.name, row])));
  // Each job that awaits the runs reports the failure.
  runs.catch(() => undefined);
  return { looking, runs };
}

export const listJobNames = (jobs: readonly Job[]): string[] => jobs.map(({ name }) => name);

/** `idle`: the jobs that found nothing. `failures`: the jobs that could not be started, by name. */
export type Started = {
  readonly jobs: number;
  readonly idle: ReadonlySet<string>;
  readonly failures: readonly string[];
};

/** A job whose last run still makes progress is not started. A job that fails to start does not stop the others; the next minute tries again. */
export async function startJobs(
  deps: Deps,
  jobs: readonly Job[],
  { looking, runs }: Look = beginLook(deps, listJobNames(jobs)),
): Promise<Started> {
  const now = Date.now();
  const idle = new Set<string>();
  const failures: string[] = [];
  const start = async (job: Job): Promise<void> => {
    try {
      const found = await findDue(looking, job);
      const before = (await runs).get(job.name);
      if (!makesProgress(before, now) && !(await startRun(deps, job, found, { now, before }))) idle.add(job.name);
    } catch (thrown) {
      const { lastError } = logFailure(job.name, null, thrown);
      failures.push(`${job.name}: ${lastError}`);
      // When the database itself fails, only the log remains.
      await commit(deps.db, [raiseAlert(deps.db, toJobFailedAlert(job.name, lastError))]).catch(() => undefined);
    }
  };
  await Promise.all(jobs.map(start));
  return { jobs: jobs.length, idle, failures };
}

const makesProgress = (run: JobRow | undefined, now: number): boolean =>
  run !== undefined && run.pending > 0 && now < run.progressedAt + STALLED_MS;

type FoundRows = { readonly oldestDueAt: number | null; readonly due: readonly Due[]; readonly slice?: Slice };

async function findDue(deps: Deps, job: Job): Promise<FoundRows | null> {
  if (job.kind === "bulk") {
    const slice = await job.find(deps, BEFORE_FIRST_DUE);
    return slice && { oldestDueAt: slice.oldestDueAt, due: [], slice };
  }
  const due = await job.find(deps, null, FOUND_AT_ONCE);
  const [first] = due;
  return first ? { oldestDueAt: first.at, due } : null;
}

type TriggerContext = { readonly now: number; readonly before: JobRow | undefined };

async function startRun(
  deps: Deps,
  job: Job,
  found: FoundRows | null,
  { now, before }: TriggerContext,
): Promise<boolean> {
  const { db, env } = deps;
  const taken = found && (await takeRows(deps, job, found));
  if (!found || !taken) {
    if (before && reportsRows(before)) await commit(db, [putRun(db, job.name, { at: now, found: 0 })]);
    return false;
  }
  const { messages, ...counts } = taken;
  // If the queue lost a run of slices, its rows have been due since that run began.
  const lost = job.kind === "bulk" && before && before.pending > 0 ? (before.oldestDueAt ?? before.startedAt) : null;
  const oldestDueAt = lost === null ? found.oldestDueAt : Math.min(lost, found.oldestDueAt ?? lost);
  // Slices report their own lag when the queue handles them.
  const knownLate = job.kind === "bulk" && !job.here ? lost : oldestDueAt;
  // Written before the messages: after a crash in between, the stalled run is started again.
  await commit(db, [
    putRun(db, job.name, { at: now, ...counts, pending: messages.length, oldestDueAt }),
    ...raiseIfLate(deps, job, knownLate),
    ...(counts.lastError === null ? [] : [raiseAlert(db, toJobFailedAlert(job.name, counts.lastError))]),
  ]);
  await sendAll(env, messages);
  return true;
}

/** True if a row still reports lag, failures or pending parts. The first look that finds nothing resets them. */
const reportsRows = ({ found, failed, pending, oldestDueAt }: JobRow): boolean =>
  found + failed + pending > 0 || oldestDueAt !== null;

type TakenRows = Counts & { readonly found: number; readonly messages: readonly QueuedJobMessage[] };
const NO_COUNTS: Counts = { done: 0, failed: 0, lastError: null };

/** Runs the part of a `here` job, and returns its counts and the messages for the queue. Returns null if there was nothing to do. */
async function takeRows(deps: Deps, job: Job, { due, slice }: FoundRows): Promise<TakenRows | null> {
  const runFrom = (after: Due): QueuedJobMessage => ({ body: { kind: "run", job: job.name, after } });
  if (job.kind === "bulk") {
    if (!job.here) return { ...NO_COUNTS, found: 0, messages: [runFrom(BEFORE_FIRST_DUE)] };
    const stretch = { from: BEFORE_FIRST_DUE, slices: 1, ...(slice && { first: slice }) };
    const { left, found, done, failed, lastError } = await runSlices(deps, job, stretch);
    return { found, done, failed, lastError, messages: left === null ? [] : [runFrom(left)] };
  }
  const { length: found } = due;
  if (!job.here) return { ...NO_COUNTS, found, messages: toMessages(job, due) };
  const { done, failed, lastError } = await recordPart(
    deps,
    job,
    due.map(({ id }) => id),
  );
  return done + failed === 0 ? null : { found, done, failed, lastError, messages: [] };
}

/** Writes the trigger's row each quarter of an hour, to show that the cron runs; at each run while jobs fail to start, and once more afterwards. */
export async function recordTrigger(
  { db }: Deps,
  name: string,
  started: readonly Started[],
  { runs }: Look,
): Promise<void> {
  const now = Date.now();
  const before = (await runs).get(name);
  const failures = started.flatMap((one) => one.failures);
  const { length: failed } = failures;
  if (before && now < before.startedAt + HEARTBEAT_MS && before.failed + failed === 0) return;
  const found = started.reduce((sum, { jobs }) => sum + jobs, 0);
  const counts = { found, done: found - failed, failed, lastError: failures.at(-1) ?? null };
  await commit(db, [putRun(db, name, { at: now, ...counts })]);
}
