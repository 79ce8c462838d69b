// Running jobs (JOB-1 to JOB-6, JOB-14): the minute finds due rows and passes them to the queue in parts, parts record row by
// row, and operators see the progress.
import { describe, expect, it, vi } from "vitest";
import { BEFORE_FIRST_DUE, type Due } from "../../src/core/clock.ts";
import { MINUTE_MS } from "../../src/core/limits.ts";
import { Conflict } from "../../src/core/retry.ts";
import { jobs } from "../../src/db/tables/journal.ts";
import type { BulkJob, EachJob, Slice } from "../../src/jobs/job.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { startJobs } from "../../src/jobs/start.ts";
import { drain, jobOf, listed, raised, setJobStage, stage, stored } from "./support.ts";

setJobStage();

describe("a job with many rows", () => {
  it("records each row once, however many one reading finds", async () => {
    const recorded: string[] = [];
    const many = jobOf("many", 1_234, MINUTE_MS, async (_deps, id) => {
      recorded.push(id);
      return true;
    });
    await startJobs(stage.deps, [many]);
    expect(stage.sent.filter(({ kind }) => kind === "record")).toHaveLength(50);
    expect(await listed("many")).toMatchObject({ finished_at: null, found: 1_000, pending: 51 });
    await drain(many);
    expect(recorded).toHaveLength(1_234);
    expect(new Set(recorded).size).toBe(1_234);
    const counts = { found: 1_234, done: 1_234, failed: 0, pending: 0, last_error: null };
    expect(await listed("many")).toMatchObject({ finished_at: expect.any(String), ...counts });
    expect(await raised()).toEqual([]);
  });

  it("records six rows at once, as many requests as an invocation may send", async () => {
    let [running, most] = [0, 0];
    const six = Promise.withResolvers<void>();
    const busy = jobOf("busy", 40, 0, async () => {
      running += 1;
      most = Math.max(most, running);
      if (running === 6) six.resolve();
      await six.promise;
      running -= 1;
      return true;
    });
    await startJobs(stage.deps, [busy]);
    await drain(busy);
    expect(most).toBe(6);
  });

  it("is left alone while it makes progress, and started again once a part is lost", async () => {
    const slow = jobOf("slow", 3, 0);
    await startJobs(stage.deps, [slow]);
    expect(stage.sent.splice(0)).toHaveLength(1);
    await startJobs(stage.deps, [slow]);
    expect(stage.sent).toEqual([]);
    await stage.world.deps.db.update(jobs).set({ progressedAt: stage.world.now() - 5 * MINUTE_MS - 1 });
    await startJobs(stage.deps, [slow]);
    expect(stage.sent).toHaveLength(1);
    await drain(slow);
    expect(await stored("slow")).toMatchObject({ done: 3, pending: 0 });
  });
});

describe("a job that is not urgent", () => {
  it("spreads its messages evenly, and those of every reading over the same time", async () => {
    const many: EachJob = { ...jobOf("many", 2_500, MINUTE_MS), part: 20, spreadSeconds: 300 };
    await startJobs(stage.deps, [many]);
    const [first] = stage.sent;
    expect(first).toMatchObject({ kind: "record", ids: Array.from({ length: 20 }, (_, n) => `row-${n}`) });
    // The message that finds more is not delayed.
    expect(stage.delays).toEqual([...Array.from({ length: 50 }, (_, n) => 6 * n), 0]);
    await drain(many);
    expect(Math.max(...stage.delays)).toBe(294);
    expect(stage.delays.filter((delay) => delay === 0).length).toBe(3 + 2);
    expect(await listed("many")).toMatchObject({ done: 2_500, pending: 0 });
  });
});

describe("a row that fails", () => {
  it("is logged and reported with the names of the job and the row, and stops no other row", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const fragile = jobOf("fragile", 45, 0, async (_deps, id) => {
      if (id === "row-7") throw new Error("the row is broken");
      return true;
    });
    await startJobs(stage.deps, [fragile]);
    await drain(fragile);
    expect(log.mock.calls.map(([text]) => JSON.parse(text))).toEqual([
      { event: "job_failed", job: "fragile", id: "row-7", message: "the row is broken" },
    ]);
    const last_error = { at: expect.any(String), message: "row-7: the row is broken" };
    expect(await listed("fragile")).toMatchObject({ done: 44, failed: 1, last_error });
    expect(await raised()).toEqual([["job_failed", "fragile", "row-7: the row is broken"]]);
  });

  it("does not count as failed if another run was faster", async () => {
    const raced = jobOf("raced", 2, 0, async (_deps, id) => {
      if (id === "row-0") throw new Conflict();
      return true;
    });
    await startJobs(stage.deps, [raced]);
    await drain(raced);
    expect(await listed("raced")).toMatchObject({ done: 1, failed: 0, last_error: null });
    expect(await raised()).toEqual([]);
  });

  it("does not stop the other jobs if the search for rows fails", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const broken: EachJob = {
      ...jobOf("broken", 0, 0),
      find: async () => {
        throw new Error("no such index");
      },
    };
    const sound = jobOf("sound", 1, 0);
    await startJobs(stage.deps, [broken, sound]);
    await drain(broken, sound);
    expect(await listed("sound")).toMatchObject({ done: 1 });
    expect(await raised()).toEqual([["job_failed", "broken", "no such index"]]);
  });
});

describe("a late job", () => {
  it("reports its lag, and raises an alert from ten minutes on", async () => {
    await startJobs(stage.deps, [jobOf("nine", 1, 9 * MINUTE_MS), jobOf("twelve", 1, 12 * MINUTE_MS)]);
    expect((await listed("nine")).lag_seconds).toBe(540);
    expect((await listed("twelve")).lag_seconds).toBe(720);
    expect(await raised()).toEqual([
      ["job_lag", "twelve", "The oldest row that the job found has been due for 12 minutes."],
    ]);
  });
});

describe("a job that works in slices", () => {
  const slices = (name: string, counts: number[]): BulkJob => ({
    kind: "bulk",
    name,
    slices: 5,
    find: async () => ({
      oldestDueAt: null,
      run: async () => ({ done: counts.shift() ?? 0, failed: [], next: counts.length > 0 ? BEFORE_FIRST_DUE : null }),
    }),
  });

  it("continues in another message if one does not hold all slices", async () => {
    const bulk = slices("bulk", [5, 5, 5, 5, 5, 5, 2]);
    await startJobs(stage.deps, [bulk]);
    expect(await drain(bulk)).toBe(2);
    expect(await listed("bulk")).toMatchObject({ done: 32, pending: 0, finished_at: expect.any(String) });
  });

  it("keeps its progress and states the reason if it fails", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const counts = [5, 5];
    const run = async () => {
      const done = counts.shift();
      if (done === undefined) throw new Error("the third slice is broken");
      return { done, failed: [], next: BEFORE_FIRST_DUE };
    };
    const find = async () => ({ oldestDueAt: stage.world.now() - 12 * MINUTE_MS, run });
    const bulk: BulkJob = { kind: "bulk", name: "bulk", slices: 5, find };
    await startJobs(stage.deps, [bulk]);
    await drain(bulk);
    const last_error = { at: expect.any(String), message: "the third slice is broken" };
    expect(await listed("bulk")).toMatchObject({ done: 10, failed: 1, pending: 0, last_error });
  });
});

describe("a late job that works in slices", () => {
  const late = (name: string, since: number, run: Slice["run"]): BulkJob => ({
    kind: "bulk",
    name,
    slices: 1,
    find: async (_deps, after) => (after === BEFORE_FIRST_DUE ? { oldestDueAt: stage.world.now() - since, run } : null),
  });
  const nothing = async () => ({ done: 1, failed: [], next: null });

  it("reports its lag, and raises an alert from ten minutes on", async () => {
    const known = [late("nine", 9 * MINUTE_MS, nothing), late("twelve", 12 * MINUTE_MS, nothing)];
    await startJobs(stage.deps, known);
    await drain(...known);
    expect((await listed("nine")).lag_seconds).toBe(540);
    expect((await listed("twelve")).lag_seconds).toBe(720);
    expect(await raised()).toEqual([
      ["job_lag", "twelve", "The oldest row that the job found has been due for 12 minutes."],
    ]);
  });

  it("reports its lag also if the slice fails", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const broken = late("broken", 12 * MINUTE_MS, () => Promise.reject(new Error("the slice is broken")));
    await startJobs(stage.deps, [broken]);
    await drain(broken);
    expect((await listed("broken")).lag_seconds).toBe(720);
    expect((await raised()).map(([kind]) => kind).sort()).toEqual(["job_failed", "job_lag"]);
  });

  it("is late since its first message if the queue delivers nothing", async () => {
    const lost = late("lost", 0, nothing);
    await startJobs(stage.deps, [lost]);
    for (const minutes of [6, 12]) {
      const at = stage.world.now() - 6 * MINUTE_MS;
      const before = stage.world.now() - minutes * MINUTE_MS;
      await stage.world.deps.db.update(jobs).set({ progressedAt: at, startedAt: before, oldestDueAt: null });
      await startJobs(stage.deps, [lost]);
    }
    expect((await listed("lost")).lag_seconds).toBe(720);
    expect(await raised()).toEqual([
      ["job_lag", "lost", "The oldest row that the job found has been due for 12 minutes."],
    ]);
  });

  it("names each row that could not be recorded, and continues after it", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const after: Due[] = [];
    const failed = [{ id: "row-1", thrown: new Error("the row is broken") }];
    const bulk: BulkJob = {
      kind: "bulk",
      name: "bulk",
      slices: 1,
      find: async (_deps, from) => {
        after.push(from);
        const next = from === BEFORE_FIRST_DUE ? { at: 7, id: "row-9" } : null;
        return { oldestDueAt: null, run: async () => ({ done: 9, failed: next ? failed : [], next }) };
      },
    };
    await startJobs(stage.deps, [bulk]);
    expect(await drain(bulk)).toBe(2);
    // The trigger has searched, and the message searches again.
    expect(after).toEqual([BEFORE_FIRST_DUE, BEFORE_FIRST_DUE, { at: 7, id: "row-9" }]);
    expect(log.mock.calls.map(([text]) => JSON.parse(text))).toMatchObject([{ job: "bulk", id: "row-1" }]);
    expect(await listed("bulk")).toMatchObject({ found: 19, done: 18, failed: 1, pending: 0 });
    expect(await raised()).toEqual([["job_failed", "bulk", "row-1: the row is broken"]]);
  });
});

describe("a row that one invocation records in part", () => {
  const inParts = (name: string, parts: number): EachJob => {
    let left = parts;
    return jobOf(name, 1, 0, async () => (--left > 0 ? "more" : true));
  };

  it("continues in another message, and keeps the run open until it is recorded", async () => {
    const long = inParts("long", 3);
    await startJobs(stage.deps, [long]);
    for (const pending of [1, 1]) {
      const message = stage.sent.shift();
      if (message) await runMessage(stage.deps, [long], message);
      expect(await listed("long")).toMatchObject({ done: 0, pending, finished_at: null });
      // A run that makes progress is not started again.
      await startJobs(stage.deps, [long]);
      expect(stage.sent).toEqual([{ kind: "record", job: "long", ids: ["row-0"] }]);
    }
    await drain(long);
    expect(await listed("long")).toMatchObject({ done: 1, pending: 0, finished_at: expect.any(String) });
  });

  it("ends no run of the job if an operation has asked for it", async () => {
    const rows = jobOf("rows", 1, 0);
    await startJobs(stage.deps, [rows]);
    await runMessage(stage.deps, [rows], { kind: "record", job: "rows", ids: ["row-5"], apart: true });
    expect(await listed("rows")).toMatchObject({ pending: 1, finished_at: null });
    await drain(rows);
    expect(await listed("rows")).toMatchObject({ pending: 0, finished_at: expect.any(String) });
  });

  it("may be a search that an operation has asked for, which ends no run of the job either", async () => {
    const rows = jobOf("rows", 1, 0);
    await startJobs(stage.deps, [rows]);
    await runMessage(stage.deps, [rows], { kind: "find", job: "rows", after: BEFORE_FIRST_DUE, apart: true });
    // The rows that were found add one part to the job's run.
    expect(await listed("rows")).toMatchObject({ pending: 2, finished_at: null });
    await drain(rows);
    expect(await listed("rows")).toMatchObject({ pending: 0, finished_at: expect.any(String) });
  });
});

describe("rows that one message records in part", () => {
  it("continue together in another message", async () => {
    const left = new Set(["row-1", "row-2"]);
    const long = jobOf("long", 3, 0, async (_deps, id) => (left.delete(id) ? "more" : true));
    await startJobs(stage.deps, [long]);
    for (const message of stage.sent.splice(0)) await runMessage(stage.deps, [long], message);
    expect(stage.sent).toEqual([{ kind: "record", job: "long", ids: ["row-1", "row-2"] }]);
    await drain(long);
    expect(await listed("long")).toMatchObject({ done: 3, pending: 0 });
  });
});

describe("a message of another version", () => {
  it("about a removed job is acknowledged without work", async () => {
    await runMessage(stage.deps, [], { kind: "record", job: "gone", ids: ["row-0"] });
    expect(await stored("gone")).toBeUndefined();
  });
});
