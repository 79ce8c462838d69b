// Many tasks whose window ends at one instant (TSK-3, JOB-4): the minute's trigger finds them, and the queue's consumer records each exactly once.
// The run needs more than one read to find them all.
import { and, eq, sql } from "drizzle-orm";
import { beforeAll, expect, it } from "vitest";
import { agents, ratingCounterparties } from "../../src/db/tables/agents.ts";
import { activityEntries, events, jobs } from "../../src/db/tables/journal.ts";
import { tasks } from "../../src/db/tables/money.ts";
import { startJobs } from "../../src/jobs/start.ts";
import { autoConfirmTasks } from "../../src/tasks/confirm.ts";
import { facilitated } from "../facilitation/support.ts";
import { copyRow } from "../support/copies.ts";
import { deliver } from "../support/queue.ts";
import { isWhole } from "../support/scale.ts";
import { createWorld, type World } from "../support/world.ts";

const PAIRS = isWhole() ? 5 : 2;
const COUNT = isWhole() ? 10_000 : 100;
const JOBS = "agent-accountability-jobs";

let world: World;
let templates: Awaited<ReturnType<typeof facilitated>>[];
beforeAll(async () => {
  world = await createWorld();
  templates = [];
  for (let pair = 0; pair < PAIRS; pair++) templates.push(await facilitated(world));
});

/** Copies a purchase `count` times: the settlement and the task, due at `confirmBy`. */
async function repeat(task: string, count: number, confirmBy: number): Promise<void> {
  const copy = (table: string, changed: Record<string, string>) =>
    copyRow(table, `task_id = '${task}'`, changed, { to: count });
  await copy("transactions", {
    transaction_id: "t.transaction_id || '-' || i",
    task_id: "t.task_id || '-' || i",
    intent_id: "t.intent_id || '-' || i",
    log_index: "t.log_index + i",
  });
  await copy("tasks", {
    task_id: "t.task_id || '-' || i",
    transaction_id: "t.transaction_id || '-' || i",
    confirm_by: String(confirmBy),
    opened_at: String(confirmBy - 72 * 3_600_000),
  });
}

/** Passes the jobs' messages to the consumer, batch by batch, until none is left. */
async function workJobs(): Promise<void> {
  for (;;) {
    const messages = world.sent.splice(0).filter(({ queue }) => queue === JOBS);
    if (messages.length === 0) return;
    const bodies = messages.map(({ body }) => body);
    expect(await deliver(world, JOBS, bodies)).toMatchObject({ retried: [] });
  }
}

it("records every task at its own instant, once for each side", async () => {
  const { db } = world.deps;
  const confirmBy = Date.now() - 1;
  const each = COUNT / PAIRS;
  for (const { task } of templates) await repeat(task, each, confirmBy);
  await startJobs(world.deps, [autoConfirmTasks]);
  await workJobs();
  const latest = async () => (await db.select().from(jobs).where(eq(jobs.name, autoConfirmTasks.name)))[0];
  expect(await latest()).toMatchObject({ pending: 0, finishedAt: expect.any(Number) });
  expect(await latest()).toMatchObject({ found: COUNT, done: COUNT, failed: 0, lastError: null });
  for (const { task, provider, consumer } of templates) {
    const closed = and(eq(tasks.providerDid, provider.did), eq(tasks.status, "auto_confirmed"));
    expect(await db.$count(tasks, and(closed, eq(tasks.closedAt, confirmBy)))).toBe(each);
    const reported = and(eq(events.type, "task.closed"), sql`json_extract(object, '$.provider_did') = ${provider.did}`);
    expect(await db.$count(events, reported)).toBe(each);
    expect(await db.$count(tasks, eq(tasks.taskId, task))).toBe(1);
    for (const { did } of [provider, consumer]) {
      const [agent] = await db.select().from(agents).where(eq(agents.did, did));
      expect(agent?.ratingInteractions).toBe(each);
      expect(await db.$count(ratingCounterparties, eq(ratingCounterparties.did, did))).toBe(1);
    }
  }
  // An auto-confirmation has no actor.
  expect(await db.$count(activityEntries, sql`action like 'task.%'`)).toBe(0);
});
