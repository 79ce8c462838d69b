// What the operator sees of events that nobody has followed up, and of deliveries that are due (GET /v1/operator/jobs).
import { expect, it } from "vitest";
import { runMessage, startJob } from "../../src/jobs/run.ts";
import { handOnEvents } from "../../src/journal/outbox.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { wakeEndpoints } from "../../src/webhooks/sweep.ts";
import { operator } from "../standing/account-support.ts";
import { createWorld, expectStatus, type Json } from "../support/world.ts";
import { anEvent, endpoint, receiver, work } from "./support.ts";

const lost = { send: async () => undefined, sendBatch: async () => undefined } as never;
const WEBHOOKS = { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never;
const world = await createWorld({ JOB_QUEUE: lost, OUTBOX_QUEUE: lost, WEBHOOK_QUEUE: lost, WEBHOOKS });

const events = async (): Promise<Json> =>
  expectStatus(await world.call("GET", "/v1/operator/jobs", { key: null, headers: operator() }), 200).events;
/** The job of a minute. */
async function look(): Promise<void> {
  await startJob(world.deps, wakeEndpoints);
  await runMessage(world.deps, [wakeEndpoints], { kind: "run", job: wakeEndpoints.name });
}
const NOTHING = { waiting: 0, oldest_waiting_at: null, lag_seconds: 0, oldest_undelivered_at: null };

it("tells of the oldest event that waits, and of the longest due delivery", async () => {
  const there = await receiver();
  const made = await endpoint(world, there.url, { event_types: ["agent.registered"] });
  const stopped = await endpoint(world, there.url, { event_types: ["agent.registered"] });
  await world.serve(() => handOnEvents(world.deps, []));
  await world.serve(() => fanOutEvents(world.deps));
  expect(await events()).toEqual(NOTHING);
  const before = Date.now();
  await anEvent(world);
  await anEvent(world);
  world.advance(90_000);
  const waiting = await events();
  expect(waiting).toMatchObject({ waiting: 2, oldest_undelivered_at: null });
  expect(Math.abs(Date.parse(waiting.oldest_waiting_at) - before)).toBeLessThan(5_000);
  expect(waiting.lag_seconds).toBeGreaterThanOrEqual(89);
  await world.serve(() => handOnEvents(world.deps, []));
  expect((await events()).waiting).toBe(2);
  await world.serve(() => fanOutEvents(world.deps));
  await look();
  const due = await events();
  expect(due).toMatchObject({ waiting: 0, lag_seconds: 0 });
  expect(Date.parse(due.oldest_undelivered_at)).toBeGreaterThan(before);
  await work(world, made);
  // The other one waits still; of a disabled one nothing is due.
  await look();
  expect((await events()).oldest_undelivered_at).not.toBe(null);
  const path = `/v1/webhooks/${stopped.webhook_id}`;
  expectStatus(await world.call("PATCH", path, { body: { status: "disabled" } }), 200);
  await look();
  expect(await events()).toEqual(NOTHING);
});
