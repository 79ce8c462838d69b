// An endpoint's object (EVT-25, EVT-27): it rests while its endpoint fails, its alarm wakes it again, and it holds up no other object.
import { expect, it } from "vitest";
import { SECOND_MS } from "../../src/core/limits.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { CLAIM_SIZE, CLAIMS_PER_INVOCATION } from "../../src/webhooks/post.ts";
import { deliverAll } from "../support/queue.ts";
import type { Behaviour } from "../support/receiver.ts";
import { expectStatus, type Json } from "../support/world.ts";
import { atRest, deliveriesOf, drivenWorld, endpoint, eventIdsOf, fireAlarm, receiver, someEvents } from "./support.ts";

const world = await drivenWorld();
const registered = { event_types: ["agent.registered"] };
const pathOf = ({ webhook_id }: Json) => `/v1/webhooks/${webhook_id}`;

/** Makes events, and lets the queues wake the objects. */
async function tell(events: number): Promise<void> {
  await someEvents(world, events);
  await deliverAll(world);
}

it("delivers to an endpoint that answers while others fail or do not answer yet", async () => {
  const others: Behaviour[] = [{ status: 500 }, { how: "close" }, { how: "hold" }];
  const failing = await Promise.all(others.map((one) => receiver(one)));
  const stuck = await Promise.all(failing.map(({ url }) => endpoint(world, url, registered)));
  const there = await receiver();
  const made = await endpoint(world, there.url, registered);
  await tell(10);
  await atRest(made);
  expect(await there.received()).toHaveLength(10);
  expect(await deliveriesOf(world, made, "?status=delivered")).toHaveLength(10);
  // The first attempts of the slow endpoint are still in progress.
  expect(await failing[2]?.until(2)).toHaveLength(2);
  await failing[2]?.release();
  await Promise.all(stuck.map(atRest));
});

it("retries failed deliveries at its alarm until everything is delivered", async () => {
  const there = await receiver({ status: 500 }, { status: 200 }, { how: "close" }, { status: 200 });
  const made = await endpoint(world, there.url, registered);
  await tell(3);
  let alarms = 0;
  for (let at = await atRest(made); at !== null; at = await fireAlarm(world, made)) {
    expect(at).toBeGreaterThan(world.now());
    alarms += 1;
  }
  expect(await deliveriesOf(world, made, "?status=delivered")).toHaveLength(3);
  const ids = await eventIdsOf(there);
  expect([alarms > 0, ids.length, new Set(ids).size]).toEqual([true, 5, 3]);
  expect(expectStatus(await world.call("GET", pathOf(made)), 200).failing_since).toBe(null);
});

it("rests after 20 failures in a row, until its owner asks for a test", async () => {
  const there = await receiver({ status: 500 });
  const made = await endpoint(world, there.url, registered);
  await tell(30);
  expect(await atRest(made)).toBe(world.now() + 5 * SECOND_MS);
  expect(await there.received()).toHaveLength(20);
  // A message of the queue does not wake it earlier.
  world.advance(5 * SECOND_MS - 1);
  await tell(1);
  expect(await atRest(made)).toBe(world.now() + 1);
  expect(await there.received()).toHaveLength(20);
  await there.behave({ status: 200 });
  expectStatus(await world.call("POST", `${pathOf(made)}/test`), 200);
  await atRest(made);
  expect((await there.received()).filter(({ body }) => body.includes("webhook.test"))).toHaveLength(1);
});

it("delivers in several invocations if there is more than one may send", async () => {
  const there = await receiver();
  const made = await endpoint(world, there.url, registered);
  // The first claim of an invocation takes two.
  const count = CLAIMS_PER_INVOCATION * CLAIM_SIZE + 1;
  await someEvents(world, count);
  await fanOutEvents(world.deps);
  expectStatus(await world.call("POST", `${pathOf(made)}/test`), 200);
  expect(await atRest(made)).toBe(world.now());
  expect(await there.received()).toHaveLength((CLAIMS_PER_INVOCATION - 1) * CLAIM_SIZE + 2);
  expect(await fireAlarm(world, made)).toBe(null);
  const ids = await eventIdsOf(there);
  expect([ids.length, new Set(ids).size]).toEqual([count + 1, count + 1]);
});

it("has no alarm while its endpoint is disabled, and continues when it is enabled", async () => {
  const there = await receiver({ status: 410 }, { status: 200 });
  const made = await endpoint(world, there.url, registered);
  await tell(1);
  expect(await atRest(made)).toBe(null);
  expect(expectStatus(await world.call("GET", pathOf(made)), 200).status).toBe("disabled");
  expectStatus(await world.call("PATCH", pathOf(made), { body: { status: "enabled" } }), 200);
  await atRest(made);
  expect(await there.received()).toHaveLength(1);
  expect(await fireAlarm(world, made)).toBe(null);
  expect(await there.received()).toHaveLength(2);
});
