// A minute and an hour in which nothing is due (JOB-15): the triggers with all their jobs send nothing, and write only how far the chains are read
// and, each quarter of an hour, that they ran.
import { beforeEach, expect, it, vi } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { runCron } from "../../src/cron.ts";
import { jobs } from "../../src/db/tables/journal.ts";
import { stopRealTime } from "../auth/support.ts";
import { deliverAll } from "../support/queue.ts";
import { createWorld } from "../support/world.ts";

const world = await createWorld();
const NETWORKS = world.deps.config.networks.length;

/** Runs a trigger. Returns what it sent, and how many rows of each table it wrote. */
async function come(cron: string) {
  world.meter.reset();
  await world.serve(() => runCron({ cron } as ScheduledController, { ...world.deps.env, DB: world.meter.d1 }));
  const { trips, sql, written } = world.meter.reading;
  const wrote: Record<string, number> = {};
  for (const [at, text] of sql.entries()) {
    const [, table = text] = /^(?:insert into|update|delete from) "(\w+)"/.exec(text) ?? [];
    if (written[at]) wrote[table] = (wrote[table] ?? 0) + written[at];
  }
  return { trips, wrote, sent: [...world.sent] };
}
const EVERY_MINUTE = "* * * * *";

stopRealTime();
beforeEach(async () => {
  // Does what is due for a new service, at once and ten minutes later.
  for (let minute = 0; minute < 3; minute++) {
    await come(EVERY_MINUTE);
    await deliverAll(world);
    vi.setSystemTime(Date.now() + 11 * MINUTE_MS);
  }
  await world.deps.db.update(jobs).set({ startedAt: Date.now() });
});

it("fifteen minutes write a row for each network and minute, and one for the trigger", async () => {
  const wrote: Record<string, number> = {};
  for (let minute = 0; minute < 15; minute++) {
    vi.setSystemTime(Date.now() + MINUTE_MS);
    const cost = await come(EVERY_MINUTE);
    expect(cost.sent).toEqual([]);
    // One trip for all first reads, two for each follower, and one for the trigger's row.
    expect(cost.trips).toBeLessThanOrEqual(1 + 2 * NETWORKS + 1);
    for (const [table, rows] of Object.entries(cost.wrote)) wrote[table] = (wrote[table] ?? 0) + rows;
  }
  expect(wrote).toEqual({ followers: 15 * NETWORKS, jobs: 1 });
});

it("the hour writes its own row, at most once in a quarter of an hour", async () => {
  expect(await come("0 * * * *")).toMatchObject({ sent: [], wrote: { jobs: 1 } });
  expect(await come("0 * * * *")).toMatchObject({ sent: [], wrote: {} });
  vi.setSystemTime(Date.now() + HOUR_MS);
  expect((await come("0 * * * *")).wrote["jobs"]).toBe(1);
});

it("another trigger starts nothing", async () => {
  expect(await come("0 0 * * *")).toEqual({ trips: 0, sent: [], wrote: {} });
});
