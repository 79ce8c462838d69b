// Events that are not processed yet, and deliveries that are due, as operators see them (GET /v1/operator/jobs).
import { expect, it } from "vitest";
import { createId } from "../../src/core/ids.ts";
import { jobs } from "../../src/db/tables/journal.ts";
import { startJobs } from "../../src/jobs/start.ts";
import { deliverNewEvents } from "../../src/journal/events.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { fanOutJob, sweepWebhooks, wakeEndpoints } from "../../src/webhooks/sweep.ts";
import { operator } from "../cascades/account-support.ts";
import { stopped } from "../support/clock.ts";
import { createWorld, expectStatus, type Json } from "../support/world.ts";
import { anEvent, endpoint, receiver, work } from "./support.ts";

const lost = { send: async () => undefined, sendBatch: async () => undefined } as never;
const WEBHOOKS = { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never;
const world = stopped(await createWorld({ JOB_QUEUE: lost, OUTBOX_QUEUE: lost, WEBHOOK_QUEUE: lost, WEBHOOKS }));

const events = async (): Promise<Json> =>
  expectStatus(await world.call("GET", "/v1/operator/jobs", { key: null, headers: operator() }), 200).events;
/** Runs the minute's job. */
async function look(): Promise<void> {
  await startJobs(world.deps, [wakeEndpoints]);
}
const NOTHING = { waiting: 0, oldest_waiting_at: null, lag_seconds: 0, oldest_undelivered_at: null };

it("reports the oldest waiting event, and the longest due delivery", async () => {
  const there = await receiver();
  const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
  const stopped = await endpoint(world, there.url, { event_types: ["agent.registered"] });
  await world.serve(() => deliverNewEvents(world.deps, []));
  await world.serve(() => fanOutEvents(world.deps));
  expect(await events()).toEqual(NOTHING);
  const before = new Date(world.now()).toISOString();
  await anEvent(world);
  await anEvent(world);
  world.advance(90_000);
  const waiting = await events();
  expect(waiting).toEqual({ waiting: 2, oldest_waiting_at: before, lag_seconds: 90, oldest_undelivered_at: null });
  await world.serve(() => deliverNewEvents(world.deps, []));
  expect((await events()).waiting).toBe(2);
  await world.serve(() => fanOutEvents(world.deps));
  const queuedAt = new Date(world.now()).toISOString();
  world.advance(1_000);
  await look();
  const due = await events();
  expect(due).toEqual({ ...NOTHING, oldest_undelivered_at: queuedAt });
  await work(world, made);
  // The other delivery still waits. The job's own look reports it, and so does the sweep if the job's message never arrives.
  await startJobs(world.deps, [wakeEndpoints]);
  expect((await events()).oldest_undelivered_at).toBe(due.oldest_undelivered_at);
  await world.deps.db.update(jobs).set({ oldestDueAt: null });
  expect((await events()).oldest_undelivered_at).toBe(null);
  await world.serve(() => sweepWebhooks(world.deps));
  expect((await events()).oldest_undelivered_at).toBe(due.oldest_undelivered_at);
  await world.deps.db.update(jobs).set({ pending: 0 });
  await look();
  expect((await events()).oldest_undelivered_at).toBe(due.oldest_undelivered_at);
  // Deliveries of a disabled endpoint are not due.
  const path = `/v1/webhooks/${stopped.webhook_id}`;
  expectStatus(await world.call("PATCH", path, { body: { status: "disabled" } }), 200);
  await look();
  expect(await events()).toEqual(NOTHING);
});

it("reports the oldest waiting event even if the first one is from a sandbox that is ahead", async () => {
  await world.serve(() => deliverNewEvents(world.deps, []));
  await world.serve(() => fanOutEvents(world.deps));
  const { d1 } = world.meter;
  await anEvent(world);
  await d1
    .prepare("update events set id = ? where seq = (select max(seq) from events)")
    .bind(createId("evt", world.now() + 90 * 86_400_000))
    .run();
  expect((await events()).lag_seconds).toBe(0);
  await anEvent(world);
  world.advance(700_000);
  expect(await events()).toMatchObject({ waiting: 2, lag_seconds: 0 });
  // The fan-out that fails has seen the second event.
  world.meter.beforeBatch(2, () => Promise.reject(new Error("the database is down")));
  await startJobs(world.deps, [fanOutJob]);
  expect((await events()).lag_seconds).toBe(700);
  await world.serve(() => deliverNewEvents(world.deps, []));
  await world.serve(() => fanOutEvents(world.deps));
  expect(await events()).toMatchObject({ waiting: 0, oldest_waiting_at: null, lag_seconds: 0 });
});
