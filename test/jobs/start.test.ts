// Starting jobs (JOB-1, JOB-5, JOB-9, JOB-15): a job that finds nothing writes and sends nothing, and the work that a crash or a lost message leaves
// is found again.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { BEFORE_FIRST_DUE } from "../../src/core/clock.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { Conflict } from "../../src/core/retry.ts";
import { readBatch } from "../../src/db/batch.ts";
import { jobs } from "../../src/db/tables/journal.ts";
import type { BulkJob, EachJob, SliceResult } from "../../src/jobs/job.ts";
import { beginLook, listJobNames, recordTrigger, startJobs } from "../../src/jobs/start.ts";
import { listJobs } from "../../src/jobs/store.ts";
import { drain, jobOf, listed, raised, setJobStage, stage, stored } from "./support.ts";

setJobStage();
beforeEach(() => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
});

/** A job of slices that reads the database. `due` returns since when something is due, or null. */
const slicesOf = (name: string, due: () => number | null): BulkJob => ({
  kind: "bulk",
  name,
  slices: 1,
  find: async ({ db }) => {
    await readBatch(db, { read: listJobs(db) });
    const oldestDueAt = due();
    return oldestDueAt === null ? null : { oldestDueAt, run: async () => ({ done: 1, failed: [], next: null }) };
  },
});

/** A job with one row, which is found while it is due. */
function rowOf(name: string, since: number, isDue: () => boolean): EachJob {
  const job = jobOf(name, 1, since);
  return { ...job, find: async (...asked) => (isDue() ? job.find(...asked) : []) };
}

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
const startMetered = async (...known: (EachJob | BulkJob)[]) => {
  stage.world.meter.reset();
  const started = await startJobs(stage.deps, known);
  return { ...started, reading: stage.world.meter.reading };
};

describe("jobs with nothing due", () => {
  it("write nothing, send nothing, and read in one trip, however many they are", async () => {
    const idle = Array.from({ length: 10 }, (_, n) => slicesOf(`slices-${n}`, () => null));
    const { reading, ...started } = await startMetered(...idle, jobOf("rows", 0, 0));
    expect(reading).toMatchObject({ trips: 1, rowsWritten: 0 });
    expect(stage.sent).toEqual([]);
    expect([started.idle.size, started.failures]).toEqual([11, []]);
    expect(await stage.deps.db.$count(jobs)).toBe(0);
  });

  it("record this once after a run that found something, and its lag is over then", async () => {
    let due = true;
    const late = rowOf("late", 9 * MINUTE_MS, () => due);
    await startJobs(stage.deps, [late]);
    await drain(late);
    expect(await listed("late")).toMatchObject({ found: 1, done: 1, lag_seconds: 540 });
    due = false;
    pass(MINUTE_MS);
    expect((await startMetered(late)).reading.rowsWritten).toBe(1);
    expect(await listed("late")).toMatchObject({ found: 0, done: 0, lag_seconds: 0, pending: 0 });
    const { startedAt } = (await stored("late")) ?? {};
    pass(MINUTE_MS);
    expect((await startMetered(late)).reading.rowsWritten).toBe(0);
    expect((await stored("late"))?.startedAt).toBe(startedAt);
  });

  it("record this once after a failure too, and keep its reason", async () => {
    let due = true;
    const job = rowOf("fragile", 0, () => due);
    const fragile: EachJob = { ...job, record: () => Promise.reject(new Error("the row is broken")) };
    await startJobs(stage.deps, [fragile]);
    await drain(fragile);
    expect(await listed("fragile")).toMatchObject({ failed: 1 });
    due = false;
    await startJobs(stage.deps, [fragile]);
    const last_error = { message: "row-0: the row is broken" };
    expect(await listed("fragile")).toMatchObject({ failed: 0, found: 0, last_error });
  });
});

describe("a job of slices", () => {
  it("sends its message only if it finds something, and states since when that is due", async () => {
    const due = stage.world.now() - MINUTE_MS;
    const [idle, busy] = [slicesOf("idle", () => null), slicesOf("busy", () => due)];
    expect((await startMetered(idle, busy)).idle).toEqual(new Set(["idle"]));
    expect(stage.sent).toEqual([{ kind: "run", job: "busy", after: BEFORE_FIRST_DUE }]);
    expect(await stored("busy")).toMatchObject({ pending: 1, oldestDueAt: due, finishedAt: null });
    await drain(idle, busy);
    expect(await stored("busy")).toMatchObject({ done: 1, pending: 0, finishedAt: expect.any(Number) });
    expect(await stored("idle")).toBeUndefined();
  });

  it("starts again five minutes after its message was lost, and is late since it was due", async () => {
    const due = stage.world.now() - 4 * MINUTE_MS;
    const lost = slicesOf("lost", () => due);
    await startJobs(stage.deps, [lost]);
    expect(stage.sent.splice(0)).toHaveLength(1);
    for (const [minutes, messages] of [
      [4, 0],
      [1, 1],
      [5, 1],
    ] as const) {
      pass(minutes * MINUTE_MS);
      stage.world.advance(minutes * MINUTE_MS);
      await startJobs(stage.deps, [lost]);
      expect(stage.sent.splice(0)).toHaveLength(messages);
    }
    expect(await raised()).toEqual([
      ["job_lag", "lost", "The oldest row that the job found has been due for 14 minutes."],
    ]);
  });

  it("ends if its message was lost and nothing is due any longer", async () => {
    let due: number | null = stage.world.now();
    const lost = slicesOf("lost", () => due);
    await startJobs(stage.deps, [lost]);
    due = null;
    pass(6 * MINUTE_MS);
    expect((await startMetered(lost)).idle).toEqual(new Set(["lost"]));
    expect(await listed("lost")).toMatchObject({ pending: 0, lag_seconds: 0, finished_at: expect.any(String) });
  });
});

describe("a crash between a job's row and its message", () => {
  it("leaves the rows to a run that starts after five minutes", async () => {
    const job = jobOf("rows", 3, 0);
    const sendBatch = () => Promise.reject(new Error("the queue is away"));
    const broken = { ...stage.deps, env: { ...stage.deps.env, JOB_QUEUE: { sendBatch } as never } };
    expect((await startJobs(broken, [job])).failures).toEqual(["rows: the queue is away"]);
    expect(await raised()).toEqual([["job_failed", "rows", "the queue is away"]]);
    expect(await stored("rows")).toMatchObject({ found: 3, pending: 1, finishedAt: null });
    await startJobs(stage.deps, [job]);
    expect(stage.sent).toEqual([]);
    pass(5 * MINUTE_MS);
    await startJobs(stage.deps, [job]);
    await drain(job);
    expect(await stored("rows")).toMatchObject({ done: 3, pending: 0 });
  });
});

describe("a job that the trigger records itself", () => {
  const here = (record: EachJob["record"]): EachJob => ({ ...jobOf("here", 2, 0, record), here: true });

  it("writes nothing if there was nothing to do, and one row otherwise", async () => {
    const quiet = await startMetered(here(async () => false));
    expect([quiet.reading.rowsWritten, quiet.idle]).toEqual([0, new Set(["here"])]);
    const busy = await startMetered(here(async (_deps, id) => id === "row-1"));
    expect([busy.reading.rowsWritten, busy.idle.size]).toEqual([1, 0]);
    const counts = { found: 2, done: 1, failed: 0, pending: 0, lag_seconds: 0, finished_at: expect.any(String) };
    expect(await listed("here")).toMatchObject(counts);
    expect(stage.sent).toEqual([]);
    for (const written of [1, 0])
      expect((await startMetered(here(async () => false))).reading.rowsWritten).toBe(written);
    expect(await listed("here")).toMatchObject({ found: 0, done: 0, pending: 0 });
  });

  it("reports a row that fails", async () => {
    const broken = here(async (_deps, id) => {
      if (id === "row-0") throw new Error("the node is mad");
      return false;
    });
    await startJobs(stage.deps, [broken]);
    expect(await listed("here")).toMatchObject({ failed: 1, last_error: { message: "row-0: the node is mad" } });
    expect(await raised()).toEqual([["job_failed", "here", "row-0: the node is mad"]]);
  });
});

describe("a slice that the trigger runs itself", () => {
  /** A job with this many slices; the first has been due for `since`. */
  const here = (slices: number, since = 0, run?: () => Promise<SliceResult>): BulkJob => ({
    kind: "bulk",
    name: "here",
    here: true,
    slices: 5,
    find: async (_deps, { at }) => {
      const slice = Math.max(at, 0);
      const next = slice + 1 < slices ? { at: slice + 1, id: "" } : null;
      const ran = async () => ({ done: 10, failed: [], next });
      return { oldestDueAt: stage.world.now() - since, run: run ?? ran };
    },
  });

  it("takes one row, and no message if it was the only one", async () => {
    const { reading, idle } = await startMetered(here(1));
    expect([reading.trips, reading.rowsWritten, idle.size, stage.sent]).toEqual([2, 1, 0, []]);
    expect(await listed("here")).toMatchObject({ found: 10, done: 10, pending: 0, finished_at: expect.any(String) });
  });

  it("leaves the slices after it to the queue", async () => {
    const job = here(3);
    await startJobs(stage.deps, [job]);
    expect(stage.sent).toEqual([{ kind: "run", job: "here", after: { at: 1, id: "" } }]);
    expect(await listed("here")).toMatchObject({ found: 10, done: 10, pending: 1, finished_at: null });
    await drain(job);
    expect(await listed("here")).toMatchObject({ found: 30, done: 30, pending: 0, finished_at: expect.any(String) });
  });

  it("reports how late it is, and why it failed", async () => {
    const broken = () => Promise.reject(new Error("the slice is broken"));
    await startJobs(stage.deps, [here(1, 12 * MINUTE_MS, broken)]);
    const last_error = { message: "the slice is broken" };
    expect(await listed("here")).toMatchObject({ done: 0, failed: 1, lag_seconds: 720, last_error });
    expect((await raised()).sort()).toEqual([
      ["job_failed", "here", "the slice is broken"],
      ["job_lag", "here", "The oldest row that the job found has been due for 12 minutes."],
    ]);
  });

  it("does not overwrite the row of the next trigger if it ends after that", async () => {
    const slow = here(1, 0, async () => {
      pass(MINUTE_MS);
      await startJobs(stage.deps, [here(3)]);
      return { done: 7, failed: [], next: null };
    });
    await startJobs(stage.deps, [slow]);
    expect(await listed("here")).toMatchObject({ found: 10, done: 10, pending: 1, finished_at: null });
  });

  it("does not count as failed if another run was faster", async () => {
    await startJobs(stage.deps, [here(1, 0, () => Promise.reject(new Conflict()))]);
    expect(await listed("here")).toMatchObject({ found: 0, failed: 0, pending: 0, last_error: null });
    expect(await raised()).toEqual([]);
  });
});

describe("the row of a trigger", () => {
  const NAME = "every_minute";
  /** Runs the trigger for one minute. */
  async function come(...known: EachJob[]): Promise<number> {
    const look = beginLook(stage.deps, [NAME, ...listJobNames(known)]);
    const started = await startJobs(stage.deps, known, look);
    stage.world.meter.reset();
    await recordTrigger(stage.deps, NAME, [started], look);
    return stage.world.meter.reading.rowsWritten;
  }

  it("is written each quarter of an hour", async () => {
    const minutes: number[] = [];
    for (let minute = 0; minute < 31; minute++) {
      if ((await come(jobOf("idle", 0, 0))) > 0) minutes.push(minute);
      pass(MINUTE_MS);
    }
    expect(minutes).toEqual([0, 15, 30]);
    expect(await listed(NAME)).toMatchObject({ found: 1, done: 1, failed: 0, pending: 0, lag_seconds: 0 });
  });

  it("reports a job that cannot search, each minute, until it can again", async () => {
    const [sound, broken] = [jobOf("sound", 0, 0), jobOf("broken", 0, 0)];
    const failing: EachJob = { ...broken, find: () => Promise.reject(new Error("no such index")) };
    await come(sound, broken);
    expect(await come(sound, failing)).toBe(1);
    const told = { found: 2, done: 1, failed: 1, last_error: { message: "broken: no such index" } };
    expect(await listed(NAME)).toMatchObject(told);
    expect(await come(sound, failing)).toBe(1);
    expect(await raised()).toEqual([["job_failed", "broken", "no such index"]]);
    expect(await come(sound, broken)).toBe(1);
    expect(await listed(NAME)).toMatchObject({ done: 2, failed: 0 });
    expect(await come(sound, broken)).toBe(0);
  });
});
