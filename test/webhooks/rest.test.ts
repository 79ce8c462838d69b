// An endpoint that fails rests, its object is called again by its alarm, and no other endpoint notices (EVT-25, EVT-27).
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { newId } from "../../src/core/ids.ts";
import { commit } from "../../src/db/batch.ts";
import { queueDeliveries } from "../../src/webhooks/queue-store.ts";
import { CLAIMED_AT_ONCE, CLAIMS_AT_ONCE } from "../../src/webhooks/schedule.ts";
import { createWorld, env, expectStatus } from "../support/world.ts";
import { anEvent, deliveriesOf, endpoint, receiver } from "./support.ts";

const world = await createWorld();
const registered = { event_types: ["agent.registered"] };

it("dead and slow endpoints do not hold up one that answers", { timeout: 60_000 }, async () => {
  const dead = await Promise.all(
    [{ status: 500 }, { how: "close" as const }, { waitMs: 20_000 }, { how: "drip" as const, status: 200 }].map((one) =>
      receiver(one),
    ),
  );
  for (const { url } of dead) await endpoint(world, url, registered);
  const there = await receiver();
  const made = await endpoint(world, there.url, registered);
  const begun = Date.now();
  for (let n = 0; n < 10; n++) await anEvent(world);
  await expect.poll(there.received, { timeout: 12_000 }).toHaveLength(10);
  // The slow ones are still in their first attempt.
  expect(Date.now() - begun).toBeLessThan(15_000);
  await expect
    .poll(async () => (await deliveriesOf(world, made)).every(({ status }) => status === "delivered"))
    .toBe(true);
});

it("the alarm of the object tries again what has failed, and what flaps comes through", {
  timeout: 60_000,
}, async () => {
  const there = await receiver({ status: 500 }, { status: 200 }, { how: "close" }, { status: 200 });
  const made = await endpoint(world, there.url, registered);
  const { webhook_id } = made;
  for (let n = 0; n < 3; n++) await anEvent(world);
  const stub = env.WEBHOOKS.get(env.WEBHOOKS.idFromName(webhook_id));
  const delivered = async () => {
    await runDurableObjectAlarm(stub);
    return (await deliveriesOf(world, made, "?status=delivered")).length;
  };
  await expect.poll(delivered, { timeout: 40_000, interval: 500 }).toBe(3);
  const ids = (await there.received()).map(({ headers }) => headers["webhook-id"]);
  expect([ids.length, new Set(ids).size]).toEqual([5, 3]);
  expect(expectStatus(await world.call("GET", `/v1/webhooks/${webhook_id}`), 200).failing_since).toBe(null);
});

it("behind many failures in a row it rests, until its owner asks for a test", { timeout: 60_000 }, async () => {
  const there = await receiver({ status: 500 });
  const made = await endpoint(world, there.url, registered);
  for (let n = 0; n < 30; n++) await anEvent(world);
  await expect.poll(async () => (await there.received()).length, { timeout: 20_000 }).toBeGreaterThanOrEqual(20);
  const before = (await there.received()).length;
  // It rests for five seconds at first.
  await scheduler.wait(1_500);
  expect((await there.received()).length).toBeLessThanOrEqual(before + 2);
  await there.behave({ status: 200 });
  expectStatus(await world.call("POST", `/v1/webhooks/${made.webhook_id}/test`), 200);
  await expect
    .poll(async () => (await there.received()).some(({ body }) => body.includes("webhook.test")), { timeout: 4_000 })
    .toBe(true);
});

it("more than one invocation may send is delivered by several", { timeout: 60_000 }, async () => {
  const there = await receiver();
  const made = await endpoint(world, there.url, { event_types: ["task.opened"] });
  const { db } = world.deps;
  const now = Date.now();
  const count = 3 * CLAIMS_AT_ONCE * CLAIMED_AT_ONCE;
  const each = Array.from({ length: count }, (_, n) => ({
    ...{ webhookId: made.webhook_id, nextAt: now, deliveryId: newId("dlv", now), eventId: newId("evt", now) },
    ...{ eventType: "task.opened", body: JSON.stringify({ n }) },
  }));
  await commit(db, queueDeliveries(db, each));
  expectStatus(await world.call("POST", `/v1/webhooks/${made.webhook_id}/test`), 200);
  await expect.poll(async () => (await there.received()).length, { timeout: 50_000, interval: 500 }).toBe(count + 1);
  const ids = (await there.received()).map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids).size).toBe(count + 1);
});

it("a disabled endpoint's object sleeps, and goes on when it is enabled", { timeout: 60_000 }, async () => {
  const there = await receiver({ status: 410 }, { status: 200 });
  const made = await endpoint(world, there.url, registered);
  await anEvent(world);
  const path = `/v1/webhooks/${made.webhook_id}`;
  const status = async () => expectStatus(await world.call("GET", path), 200).status;
  await expect.poll(status, { timeout: 15_000 }).toBe("disabled");
  // Behind the instant of its next attempt.
  await scheduler.wait(7_000);
  const stub = env.WEBHOOKS.get(env.WEBHOOKS.idFromName(made.webhook_id));
  expect(await runInDurableObject(stub, (_object, state) => state.storage.getAlarm())).toBe(null);
  expectStatus(await world.call("PATCH", path, { body: { status: "enabled" } }), 200);
  await expect.poll(there.received, { timeout: 15_000 }).toHaveLength(2);
});
