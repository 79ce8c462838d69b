// A world whose jobs put their messages into a list, and jobs over rows that a test makes up.
import { eq } from "drizzle-orm";
import { afterEach, beforeEach, inject, vi } from "vitest";
import type { Deps, JobMessage } from "../../src/context.ts";
import type { Due } from "../../src/core/clock.ts";
import { alerts, type JobRow, jobs } from "../../src/db/tables/journal.ts";
import type { EachJob, Job } from "../../src/jobs/job.ts";
import { runMessage } from "../../src/jobs/run.ts";
import { stopRealTime } from "../auth/support.ts";
import { stopped } from "../support/clock.ts";
import { createWorld, expectStatus, type Json, type World } from "../support/world.ts";

type Stage = {
  /** The world's clock stands still. */
  readonly world: World;
  readonly deps: Deps;
  readonly sent: JobMessage[];
  /** The delays of the messages that were sent in batches, in order. */
  readonly delays: number[];
};

let current: Stage;
/** The stage of the current test. */
export const stage: Stage = {
  get world() {
    return current.world;
  },
  get deps() {
    return current.deps;
  },
  get sent() {
    return current.sent;
  },
  get delays() {
    return current.delays;
  },
};

/** Each test begins without runs and alerts. Real time stands still too, because a job records when it began. */
export function setJobStage(): void {
  stopRealTime();
  beforeEach(async () => {
    const world = stopped(await createWorld());
    await world.deps.db.delete(jobs);
    await world.deps.db.delete(alerts);
    const [sent, delays]: [JobMessage[], number[]] = [[], []];
    const JOB_QUEUE = {
      send: async (body: JobMessage) => void sent.push(body),
      sendBatch: async (batch: MessageSendRequest<JobMessage>[]) => {
        sent.push(...batch.map(({ body }) => body));
        delays.push(...batch.map(({ delaySeconds = 0 }) => delaySeconds));
      },
    };
    const deps = { ...world.deps, env: { ...world.deps.env, JOB_QUEUE: JOB_QUEUE as never } };
    current = { world, deps, sent, delays };
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await stage.world.deps.db.delete(alerts);
  });
}

/** A job whose rows become due one millisecond after the other, the first `since` ago. */
export function jobOf(
  name: string,
  rows: number,
  since: number,
  record: EachJob["record"] = async () => true,
): EachJob {
  const first = stage.world.now() - since;
  const all = Array.from({ length: rows }, (_row, at): Due => ({ at: first + at, id: `row-${at}` }));
  const find: EachJob["find"] = async (_deps, after, limit) =>
    all.filter(({ at }) => after === null || at > after.at).slice(0, limit);
  return { kind: "each", name, find, record };
}

/** Handles the messages of the queue in order until none is left. Returns their number. */
export async function drain(...known: Job[]): Promise<number> {
  let worked = 0;
  for (let message = stage.sent.shift(); message !== undefined; message = stage.sent.shift()) {
    await runMessage(stage.deps, known, message);
    worked += 1;
  }
  return worked;
}

export async function stored(name: string): Promise<JobRow | undefined> {
  const [row] = await stage.world.deps.db.select().from(jobs).where(eq(jobs.name, name));
  return row;
}

/** The job as operators see it. */
export async function listed(name: string): Promise<Json> {
  const headers = { Authorization: `Bearer ${inject("operatorKey")}` };
  const { data } = expectStatus(await stage.world.call("GET", "/v1/operator/jobs", { key: null, headers }), 200);
  return data.find((job: { name: string }) => job.name === name);
}

export const raised = async () =>
  (await stage.world.deps.db.select().from(alerts)).map(({ kind, subject, message }) => [kind, subject, message]);
