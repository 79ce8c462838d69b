// Runs the queue messages of jobs (JOB-1 to JOB-4, JOB-12). A part's rows are recorded six at a time, the limit of an invocation's concurrent
// requests. A row that fails does not stop the others and is found again. Messages also find the rows after the first reading, so a run takes up
// any number of rows.
import type { Deps, Env, JobMessage } from "../context.ts";
import { BEFORE_FIRST_DUE, type Due } from "../core/clock.ts";
import { Conflict, runConcurrently } from "../core/retry.ts";
import { commit, type Statement } from "../db/batch.ts";
import { raiseAlert } from "../journal/alerts.ts";
import { toJobFailedAlert, toJobLateAlert } from "./alerts.ts";
import type { BulkJob, EachJob, Job, RowFailure, SetResult, Slice, SliceResult } from "./job.ts";
import { type Progress, recordProgress } from "./store.ts";

export const FOUND_AT_ONCE = 1_000;
const ROWS_PER_PART = 20;

export async function runMessage(deps: Deps, jobs: readonly Job[], message: JobMessage): Promise<void> {
  const job = jobs.find(({ name }) => name === message.job);
  // A version of the service with other jobs sent the message.
  if (!job) return;
  const progress = await processMessage(deps, job, message);
  const { failed, lastError, oldestDueAt } = progress;
  await commit(deps.db, [
    recordProgress(deps.db, job.name, { at: Date.now(), ...progress }),
    ...(failed > 0 ? [raiseAlert(deps.db, toJobFailedAlert(job.name, lastError ?? ""))] : []),
    ...raiseIfLate(deps, job, oldestDueAt),
  ]);
}

type MessageProgress = Omit<Progress, "at">;

async function processMessage(deps: Deps, job: Job, message: JobMessage): Promise<MessageProgress> {
  // Messages of earlier versions have no position.
  if (message.kind === "run")
    return job.kind === "bulk" ? runBulk(deps, job, message.after ?? BEFORE_FIRST_DUE) : NO_PROGRESS;
  if (job.kind !== "each") return NO_PROGRESS;
  const own = message.apart ? 0 : 1;
  if (message.kind === "find") return findMore(deps, job, message.after, own);
  const { left, alone, ...counts } = await recordRows(deps, job, message);
  const further: QueuedJobMessage[] = [
    ...(left.length > 0 ? [{ body: { kind: "record", job: job.name, ids: left } } as const] : []),
    ...(alone.length > 0 ? [{ body: { kind: "record", job: job.name, ids: alone, alone: true } } as const] : []),
  ];
  await sendAll(deps.env, further);
  return { ...NO_PROGRESS, ...counts, pending: further.length - own };
}

const NO_PROGRESS: MessageProgress = { done: 0, failed: 0, pending: -1, found: 0, oldestDueAt: null, lastError: null };

export function raiseIfLate({ db, clock }: Deps, job: Job, oldestDueAt: number | null): Statement[] {
  const late = toJobLateAlert(job.name, oldestDueAt, clock.now());
  return late ? [raiseAlert(db, late)] : [];
}

export function toMessages(
  { name: job, part = ROWS_PER_PART, spreadSeconds = 0 }: EachJob,
  due: readonly Due[],
): QueuedJobMessage[] {
  const messages: QueuedJobMessage[] = [];
  for (let at = 0; at < due.length; at += part) {
    const body: JobMessage = { kind: "record", job, ids: due.slice(at, at + part).map(({ id }) => id) };
    messages.push({ body, delaySeconds: Math.floor((at * spreadSeconds) / FOUND_AT_ONCE) });
  }
  const last = due.at(-1);
  // Sent together, so that the delays of all readings end at the same time.
  if (last && due.length === FOUND_AT_ONCE) messages.push({ body: { kind: "find", job, after: last } });
  return messages;
}

export type QueuedJobMessage = MessageSendRequest<JobMessage>;

const MESSAGES_PER_SEND = 100;

export async function sendAll(
  { JOB_QUEUE }: Pick<Env, "JOB_QUEUE">,
  messages: readonly QueuedJobMessage[],
): Promise<void> {
  for (let at = 0; at < messages.length; at += MESSAGES_PER_SEND)
    await JOB_QUEUE.sendBatch(messages.slice(at, at + MESSAGES_PER_SEND));
}

/** `own`: 1 if the job's run waits for this message. */
async function findMore(deps: Deps, job: EachJob, after: Due, own: number): Promise<MessageProgress> {
  const due = await job.find(deps, after, FOUND_AT_ONCE);
  const messages = toMessages(job, due);
  await sendAll(deps.env, messages);
  return { ...NO_PROGRESS, found: due.length, pending: messages.length - own };
}

async function runBulk(deps: Deps, job: BulkJob, from: Due): Promise<MessageProgress> {
  const { left, ...worked } = await runSlices(deps, job, { from, slices: job.slices });
  if (left === null) return worked;
  await deps.env.JOB_QUEUE.send({ kind: "run", job: job.name, after: left });
  return { ...worked, pending: 0 };
}

/** `first`: the first slice, if it is read already. */
type SliceRange = { readonly from: Due; readonly slices: number; readonly first?: Slice };

/** Runs some slices. `left`: the position after the last one, if more follow. */
export async function runSlices(
  deps: Deps,
  job: BulkJob,
  { from, slices, first }: SliceRange,
): Promise<MessageProgress & { readonly left: Due | null }> {
  let worked = NO_PROGRESS;
  let left: Due | null = from;
  try {
    for (let slice = 0; left !== null && slice < slices; slice++) {
      const found: Slice | null = slice === 0 && first ? first : await job.find(deps, left);
      if (found === null) return { ...worked, left: null };
      worked = { ...worked, oldestDueAt: worked.oldestDueAt ?? found.oldestDueAt };
      const { done, failed, next } = await found.run();
      worked = addFailures(job, { ...worked, done: worked.done + done, found: worked.found + done }, failed);
      left = next;
    }
    return { ...worked, left };
  } catch (thrown) {
    if (thrown instanceof Conflict) return { ...worked, left: null };
    const { failed, lastError } = logFailure(job.name, null, thrown);
    return { ...worked, failed: worked.failed + failed, lastError, left: null };
  }
}

function addFailures(job: BulkJob, worked: MessageProgress, failures: readonly RowFailure[]): MessageProgress {
  const last = failures.map(({ id, thrown }) => logFailure(job.name, id, thrown)).at(-1);
  const { length } = failures;
  const counts = { found: worked.found + length, failed: worked.failed + length };
  return { ...worked, ...counts, lastError: last?.lastError ?? worked.lastError };
}

export type Counts = Pick<Progress, "done" | "failed" | "lastError">;
/** `left`: rows that were recorded in part. */
export type Part = Counts & { readonly left: readonly string[] };
const NOTHING_RECORDED: Part = { done: 0, failed: 0, lastError: null, left: [] };

export type Recorder = Pick<EachJob, "name" | "record">;

/** Lets other calls run between two sets. */
const SET_REST_MS = 5;

/** Records rows as a set if the job can. Another message records the rows in `alone`, because the set has used up this invocation's statements. */
async function recordRows(
  deps: Deps,
  job: EachJob,
  { ids, alone }: { readonly ids: readonly string[]; readonly alone?: true },
): Promise<Part & Pick<SetResult, "alone">> {
  if (!job.recordSet || alone || ids.length === 1) return { ...(await recordPart(deps, job, ids)), alone: [] };
  try {
    const recorded = await job.recordSet(deps, ids);
    await scheduler.wait(SET_REST_MS);
    return { ...NOTHING_RECORDED, ...recorded };
  } catch (thrown) {
    // A Conflict: another writer has changed a row. Other failures show again at the row that causes them.
    if (!(thrown instanceof Conflict)) logFailure(job.name, null, thrown);
    return { ...NOTHING_RECORDED, alone: ids };
  }
}

export async function recordPart(deps: Deps, job: Recorder, ids: readonly string[], atOnce?: number): Promise<Part> {
  const outcomes: Part[] = [];
  await runConcurrently(ids, async (id) => void outcomes.push(await recordOne(deps, job, id)), atOnce);
  return outcomes.reduce(
    (sum, one) => ({
      done: sum.done + one.done,
      failed: sum.failed + one.failed,
      lastError: one.lastError ?? sum.lastError,
      left: [...sum.left, ...one.left],
    }),
    NOTHING_RECORDED,
  );
}

async function recordOne(deps: Deps, job: Recorder, id: string): Promise<Part> {
  try {
    const recorded = await job.record(deps, id);
    return recorded === "more" ? { ...NOTHING_RECORDED, left: [id] } : { ...NOTHING_RECORDED, done: recorded ? 1 : 0 };
  } catch (thrown) {
    // Another writer has changed the row. If it is still due, the next run finds it.
    return thrown instanceof Conflict ? NOTHING_RECORDED : { ...NOTHING_RECORDED, ...logFailure(job.name, id, thrown) };
  }
}

export function logFailure(job: string, id: string | null, thrown: unknown): { failed: number; lastError: string } {
  const message = thrown instanceof Error ? thrown.message : "unknown";
  console.error(JSON.stringify({ event: "job_failed", job, id, message }));
  return { failed: 1, lastError: id === null ? message : `${id}: ${message}` };
}

/** Runs a job to its end in this invocation, for tests. Returns the number of recorded rows. */
export async function runToEnd(deps: Deps, job: Job): Promise<number> {
  let done = 0;
  if (job.kind === "bulk") {
    for (let after: Due | null = BEFORE_FIRST_DUE; after !== null; ) {
      const ran: SliceResult | undefined = await (await job.find(deps, after))?.run();
      for (const { id, thrown } of ran?.failed ?? []) logFailure(job.name, id, thrown);
      done += ran?.done ?? 0;
      after = ran?.next ?? null;
    }
    return done;
  }
  for (let after: Due | null = BEFORE_FIRST_DUE; after !== null; ) {
    const due: readonly Due[] = await job.find(deps, after, FOUND_AT_ONCE);
    for (let ids: readonly string[] = due.map(({ id }) => id); ids.length > 0; ) {
      const recorded = await recordRows(deps, job, { ids });
      const apart: Part = await recordPart(deps, job, recorded.alone);
      done += recorded.done + apart.done;
      ids = [...recorded.left, ...apart.left];
    }
    after = due.length === FOUND_AT_ONCE ? (due.at(-1) ?? null) : null;
  }
  return done;
}
