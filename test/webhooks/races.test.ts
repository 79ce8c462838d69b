// Concurrent deliveries, and deliveries while their endpoint changes (EVT-25). The receiver holds its answers until the test continues.
import { describe, expect, it } from "vitest";
import { readWebhookHeaders, verifyWebhook } from "../../src/protocol/webhook-signature.ts";
import { claimDeliveries, LEASE_MS } from "../../src/webhooks/deliver.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { replayJob } from "../../src/webhooks/replay.ts";
import { deliverAll } from "../support/queue.ts";
import type { Received } from "../support/receiver.ts";
import { expectStatus, type Json } from "../support/world.ts";
import {
  anEvent,
  asleep,
  atRest,
  deliveriesOf,
  drivenWorld,
  endpoint,
  eventIdsOf,
  fireAlarm,
  receiver,
  settle,
  someEvents,
  work,
} from "./support.ts";

const world = await asleep();
const registered = { event_types: ["agent.registered"] };
const fanOut = () => world.serve(() => fanOutEvents(world.deps));
const pathOf = ({ webhook_id }: Json) => `/v1/webhooks/${webhook_id}`;

describe("concurrent claims", () => {
  it("lease each delivery to one of twelve callers, and not again until the lease is over", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    await someEvents(world, 10);
    await fanOut();
    const claims = await world.serve(() =>
      Promise.all(Array.from({ length: 12 }, () => claimDeliveries(world.deps, made.webhook_id, true))),
    );
    const ids = claims.flatMap(({ claimed }) => claimed.map(({ deliveryId }) => deliveryId));
    expect([ids.length, new Set(ids).size]).toEqual([10, 10]);
    expect((await claimDeliveries(world.deps, made.webhook_id, false)).claimed).toEqual([]);
    world.advance(LEASE_MS + 1_000);
    expect((await claimDeliveries(world.deps, made.webhook_id, false)).claimed).toHaveLength(10);
  });

  it("lease each delivery once, also if all callers have found it before", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    await someEvents(world, 12);
    await fanOut();
    const { claimed, found } = await world.serve(() => claimDeliveries(world.deps, made.webhook_id, true));
    expect([claimed.length, found.length]).toEqual([2, 10]);
    const claims = await world.serve(() =>
      Promise.all(Array.from({ length: 12 }, () => claimDeliveries(world.deps, made.webhook_id, false, { found }))),
    );
    const ids = claims.flatMap((one) => one.claimed.map(({ deliveryId }) => deliveryId));
    expect(ids.toSorted()).toEqual(found.map(({ deliveryId }) => deliveryId).toSorted());
    expect(claims.flatMap((one) => one.found)).toEqual([]);
    world.advance(LEASE_MS + 1_000);
    expect((await claimDeliveries(world.deps, made.webhook_id, false, { found })).claimed).toHaveLength(10);
  });

  it("let none of six objects at work send a delivery twice", async () => {
    const there = await receiver({ how: "hold" });
    const made = await endpoint(world, there.url, registered);
    await someEvents(world, 20);
    await fanOut();
    const working = Promise.all(Array.from({ length: 6 }, () => work(world, made)));
    // Each object has claimed two.
    await there.until(12);
    await there.release();
    await working;
    const ids = await eventIdsOf(there);
    expect([ids.length, new Set(ids).size]).toEqual([20, 20]);
    expect((await deliveriesOf(world, made, "?limit=100")).every(({ status }) => status === "delivered")).toBe(true);
  });
});

it("records a delivery whose lease has ended only for the caller that has leased it since", async () => {
  const there = await receiver({ how: "hold" }, { status: 500 });
  const made = await endpoint(world, there.url, registered);
  await anEvent(world);
  await fanOut();
  const first = work(world, made);
  await there.until(1);
  world.advance(LEASE_MS + 1_000);
  await work(world, made);
  await there.release();
  await first;
  const [delivery] = await deliveriesOf(world, made);
  // The second attempt failed and postponed the delivery. The first attempt, which ended later, changes nothing.
  expect([delivery.status, delivery.attempts.length, delivery.attempts[0].status_code]).toEqual(["pending", 1, 500]);
});

it("signs a delivery with the secrets of its claim, and later ones with those of a rotation", async () => {
  const there = await receiver({ how: "hold" });
  const made = await endpoint(world, there.url, registered);
  const secrets: string[] = [made.secret];
  const rotate = async () => {
    const body = { grace_hours: 1 };
    secrets.push(expectStatus(await world.call("POST", `${pathOf(made)}/rotate-secret`, { body }), 200).secret);
  };
  /** The indexes of the secrets that accept a delivery. */
  const acceptedBy = async ({ headers, body }: Received): Promise<number[]> => {
    const faults = secrets.map((secret) => verifyWebhook(secret, readWebhookHeaders(new Headers(headers)), body));
    return (await Promise.all(faults)).flatMap((fault, n) => (fault === null ? [n] : []));
  };
  const accepted = async () => Promise.all((await there.received()).map(acceptedBy));
  await someEvents(world, 6);
  await fanOut();
  const working = work(world, made);
  // The first claim takes two.
  await there.until(2);
  await rotate();
  await there.release();
  await working;
  const before = [[0], [0], ...Array(4).fill([0, 1])];
  expect(await accepted()).toEqual(before);
  await rotate();
  await anEvent(world);
  await settle(world, made);
  expect(await accepted()).toEqual([...before, [1, 2]]);
  world.advance(3_600_001);
  await anEvent(world);
  await settle(world, made);
  expect(await accepted()).toEqual([...before, [1, 2], [2]]);
  expect((await there.received()).at(-1)?.headers["webhook-signature"]?.split(" ")).toHaveLength(1);
});

describe("while two deliveries are in progress", () => {
  it("disabling the endpoint lets the other deliveries wait", async () => {
    const there = await receiver({ how: "hold" });
    const made = await endpoint(world, there.url, registered);
    await someEvents(world, 20);
    await fanOut();
    const working = work(world, made);
    await there.until(2);
    expectStatus(await world.call("PATCH", pathOf(made), { body: { status: "disabled" } }), 200);
    await there.release();
    await working;
    expect(await there.received()).toHaveLength(2);
    // Only its owner wakes its object again.
    expect(await work(world, made)).toBe(null);
    expect(await there.received()).toHaveLength(2);
    expectStatus(await world.call("PATCH", pathOf(made), { body: { status: "enabled" } }), 200);
    await work(world, made);
    const ids = await eventIdsOf(there);
    expect([ids.length, new Set(ids).size]).toEqual([20, 20]);
  });

  it("deleting the endpoint drops the other deliveries, and nothing more is sent", async () => {
    const there = await receiver({ how: "hold" });
    const made = await endpoint(world, there.url, registered);
    await someEvents(world, 20);
    await fanOut();
    const working = work(world, made);
    await there.until(2);
    expectStatus(await world.call("DELETE", pathOf(made)), 204);
    await there.release();
    await working;
    await work(world, made);
    expect(await there.received()).toHaveLength(2);
    const left = await world.meter.d1
      .prepare("select count(*) as n from webhook_queue where webhook_id = ?")
      .bind(made.webhook_id)
      .first<{ n: number }>();
    expect(left?.n).toBe(0);
  });
});

it.each([1, 2, 3, 4, 5])("delivers each event if more events come before trip %i of a replay", async (trip) => {
  const own = await asleep();
  await someEvents(own, 3);
  const there = await receiver();
  const made = await endpoint(own, there.url, registered);
  const body = { since: new Date(own.now() - 60_000).toISOString() };
  expectStatus(await own.call("POST", `${pathOf(made)}/replay`, { body }), 200);
  own.meter.beforeBatch(trip, async () => {
    await someEvents(own, 2);
    await settle(own, made);
  });
  await own.run(replayJob);
  await settle(own, made);
  const events = expectStatus(await own.call("GET", "/v1/events?type=agent.registered&limit=100"), 200).data;
  expect(events).toHaveLength(5);
  expect(new Set(await eventIdsOf(there))).toEqual(new Set(events.map(({ id }: Json) => id)));
});

it("sends the same event again after the lease if the isolate dies after the POST", async () => {
  const own = await asleep();
  const there = await receiver();
  const made = await endpoint(own, there.url, registered);
  await anEvent(own);
  await own.serve(() => fanOutEvents(own.deps));
  // A batch that fails is retried once, so both attempts must fail.
  const dies = () => Promise.reject(new Error("the isolate died"));
  own.meter.beforeBatch(2, () => {
    own.meter.beforeBatch(1, dies);
    return dies();
  });
  await expect(work(own, made)).rejects.toThrow("died");
  expect(await there.received()).toHaveLength(1);
  expect(await work(own, made)).toBeGreaterThan(own.now());
  expect(await there.received()).toHaveLength(1);
  own.advance(LEASE_MS + 1_000);
  await work(own, made);
  const [first, second] = await there.received();
  expect([second?.headers["webhook-id"], second?.body]).toEqual([first?.headers["webhook-id"], first?.body]);
  expect((await deliveriesOf(own, made))[0].status).toBe("delivered");
});

it("records the outcomes even if the database fails once after a POST", async () => {
  const own = await asleep();
  const there = await receiver();
  const made = await endpoint(own, there.url, registered);
  await someEvents(own, 3);
  await own.serve(() => fanOutEvents(own.deps));
  own.meter.beforeBatch(2, () => Promise.reject(new Error("connection lost")));
  await work(own, made);
  expect((await deliveriesOf(own, made)).map(({ status }) => status)).toEqual(Array(3).fill("delivered"));
  expect(await there.received()).toHaveLength(3);
});

it("ignores a moved sandbox clock for retries, the end of secrets and retention", async () => {
  const moved = await drivenWorld();
  const there = await receiver({ status: 500 }, { status: 200 });
  const made = await endpoint(moved, there.url, registered);
  expectStatus(await moved.call("POST", `${pathOf(made)}/rotate-secret`, { body: { grace_hours: 1 } }), 200);
  for (const days of [30, 30, 30])
    expectStatus(await moved.call("POST", "/v1/sandbox/clock/advance", { body: { seconds: days * 86_400 } }), 200);
  await anEvent(moved);
  await deliverAll(moved);
  const next = await atRest(made);
  expect(next).toBeGreaterThanOrEqual(moved.now() + 5_000);
  expect(next).toBeLessThanOrEqual(moved.now() + 5_500);
  expect(await there.received()).toHaveLength(1);
  const begun = Math.floor(Date.now() / 1_000);
  expect(await fireAlarm(moved, made)).toBe(null);
  const ended = Math.floor(Date.now() / 1_000);
  const [, second] = await there.until(2);
  const signedAt = Number(second?.headers["webhook-timestamp"]);
  expect([signedAt >= begun, signedAt <= ended]).toEqual([true, true]);
  expect(second?.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
  expect((await deliveriesOf(moved, made))[0].attempts).toHaveLength(2);
});
