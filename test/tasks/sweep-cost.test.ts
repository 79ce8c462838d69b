// The minute's jobs read only as many rows as they find, however many tasks and disputes are not due (JOB-1, TSK-3, DSP-7).
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { endDisputeDays } from "../../src/disputes/deadlines.ts";
import type { EachJob } from "../../src/jobs/job.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { disputed } from "../disputes/support.ts";
import { facilitated } from "../facilitation/support.ts";
import { copyRow } from "../support/copies.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, type World } from "../support/world.ts";

const DUE = 20;
/** Rows read besides the found ones: the end of the search, and the row at which it ends. */
const BESIDE = 2;
/** The number of copies of each kind that are not due. */
const FEW = 200;
const MANY = isWhole() ? 6_000 : 1_500;

let world: World;
let [task, dispute] = ["", ""];
/** The result of each job while there are few rows. */
const few = new Map<EachJob, Awaited<ReturnType<typeof search>>>();
const now = Date.now();
beforeAll(async () => {
  world = await createWorld();
  task = (await facilitated(world)).task;
  dispute = (await disputed(world)).id;
  await tasks("due", 0, DUE, { status: "'open'", confirm_by: `${now - HOUR_MS} - i` });
  await disputes("due", 0, DUE, { due_at: `${now - HOUR_MS} - i` });
  await undue(0, FEW);
  for (const job of [autoConfirmTasks, endDisputeDays]) few.set(job, await search(job));
  await undue(FEW, MANY);
});

type Copies = (kind: string, from: number, to: number, changed: Record<string, string>) => Promise<void>;
const tasks: Copies = (kind, from, to, changed) =>
  copyRow("tasks", `task_id = '${task}'`, { task_id: `printf('tsk_${kind}_%05d', i)`, ...changed }, { from, to });
const disputes: Copies = (kind, from, to, changed) => {
  const names = { dispute_id: `printf('dsp_${kind}_%05d', i)`, transaction_id: `printf('fac_${kind}_%05d', i)` };
  return copyRow("disputes", `dispute_id = '${dispute}'`, { ...names, ...changed }, { from, to });
};

/** Adds rows whose end is still to come, rows that ended long ago, and tasks that a dispute holds past their window. */
async function undue(from: number, to: number): Promise<void> {
  const past = `${now - HOUR_MS} - i`;
  await tasks("open", from, to, { status: "'open'", confirm_by: `${now + HOUR_MS} + i` });
  await tasks("closed", from, to, { status: "'confirmed'", confirm_by: past });
  await tasks("held", from, to, { status: "'disputed'", confirm_by: past });
  await disputes("open", from, to, { due_at: `${now + HOUR_MS} + i` });
  await disputes("ended", from, to, { due_at: "null", status: "'resolved'", answers_until: past });
}

/** Runs a job's search, and counts the rows that it reads. */
async function search(job: EachJob, after: Parameters<EachJob["find"]>[1] = null, limit = 1_000) {
  world.meter.reset();
  const found = await world.serve(() => job.find(world.deps, after, limit));
  const { rowsRead, trips } = world.meter.reading;
  expect(trips).toBe(1);
  return { found, rowsRead };
}

/** The ids in the order of how long they have been due. */
const expected = (prefix: string) =>
  Array.from({ length: DUE }, (_, n) => `${prefix}_${String(DUE - n).padStart(5, "0")}`);

describe.each([
  ["autoConfirmTasks", autoConfirmTasks, "tsk_due"],
  ["endDisputeDays", endDisputeDays, "dsp_due"],
] as const)("%s", (_name, job, prefix) => {
  it(`finds ${DUE} due rows among many others by reading as many rows`, async () => {
    const { found, rowsRead } = await search(job);
    expect(found.map(({ id }) => id)).toEqual(expected(prefix));
    expect(rowsRead).toBeGreaterThanOrEqual(DUE);
    expect(rowsRead).toBeLessThanOrEqual(DUE + BESIDE);
    expect(few.get(job)).toEqual({ found, rowsRead });
  });

  it("reads at most as many as it is asked for, and continues after them", async () => {
    const first = await search(job, null, 5);
    expect(first.found.map(({ id }) => id)).toEqual(expected(prefix).slice(0, 5));
    expect(first.rowsRead).toBeLessThanOrEqual(5 + BESIDE);
    const rest = await search(job, first.found.at(-1) ?? null);
    expect(rest.found.map(({ id }) => id)).toEqual(expected(prefix).slice(5));
    expect(rest.rowsRead).toBeLessThanOrEqual(DUE - 5 + BESIDE);
    const none = await search(job, rest.found.at(-1) ?? null);
    expect(none.found).toEqual([]);
    expect(none.rowsRead).toBeLessThanOrEqual(BESIDE);
  });
});
