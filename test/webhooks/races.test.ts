// Deliveries beside each other, and beside what is done to their endpoint (EVT-25).
import { describe, expect, it } from "vitest";
import { verifyWebhook, webhookHeaders } from "../../src/protocol/webhook-signature.ts";
import { claim, LEASE_MS } from "../../src/webhooks/deliver.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { replayJob } from "../../src/webhooks/replay.ts";
import { createWorld, expectStatus, type Json } from "../support/world.ts";
import { anEvent, asleep, deliveriesOf, endpoint, receiver, settle, work } from "./support.ts";

const world = await asleep();
const registered = { event_types: ["agent.registered"] };
const fanOut = () => world.serve(() => fanOutEvents(world.deps));
const pathOf = ({ webhook_id }: Json) => `/v1/webhooks/${webhook_id}`;

describe("of fifty claims at once", () => {
  it("each delivery is in one, and in none again until its lease is over", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    for (let n = 0; n < 10; n++) await anEvent(world);
    await fanOut();
    const claims = await world.serve(() =>
      Promise.all(Array.from({ length: 50 }, () => claim(world.deps, made.webhook_id, true))),
    );
    const ids = claims.flatMap(({ claimed }) => claimed.map(({ deliveryId }) => deliveryId));
    expect([ids.length, new Set(ids).size]).toEqual([10, 10]);
    expect((await claim(world.deps, made.webhook_id, false)).claimed).toEqual([]);
    world.advance(LEASE_MS + 1_000);
    expect((await claim(world.deps, made.webhook_id, false)).claimed).toHaveLength(10);
  });

  it("nor of those that all have found before", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    for (let n = 0; n < 12; n++) await anEvent(world);
    await fanOut();
    const { claimed, found } = await world.serve(() => claim(world.deps, made.webhook_id, true));
    expect([claimed.length, found.length]).toEqual([2, 10]);
    const claims = await world.serve(() =>
      Promise.all(Array.from({ length: 50 }, () => claim(world.deps, made.webhook_id, false, { found }))),
    );
    const ids = claims.flatMap((one) => one.claimed.map(({ deliveryId }) => deliveryId));
    expect(ids.toSorted()).toEqual(found.map(({ deliveryId }) => deliveryId).toSorted());
    expect(claims.flatMap((one) => one.found)).toEqual([]);
    world.advance(LEASE_MS + 1_000);
    expect((await claim(world.deps, made.webhook_id, false, { found })).claimed).toHaveLength(10);
  });

  it("and of twenty objects at work nobody sends one twice", async () => {
    const there = await receiver({ waitMs: 20 });
    const made = await endpoint(world, there.url, registered);
    for (let n = 0; n < 20; n++) await anEvent(world);
    await fanOut();
    await Promise.all(Array.from({ length: 20 }, () => work(world, made)));
    const received = await there.received();
    expect([received.length, new Set(received.map(({ headers }) => headers["webhook-id"])).size]).toEqual([20, 20]);
    expect((await deliveriesOf(world, made, "?limit=100")).every(({ status }) => status === "delivered")).toBe(true);
  });
});

it("one whose lease has ended is recorded by whoever holds it since, and by nobody else", async () => {
  const there = await receiver({ waitMs: 1_000 }, { status: 500 });
  const made = await endpoint(world, there.url, registered);
  await anEvent(world);
  await fanOut();
  const first = work(world, made);
  await expect.poll(there.received, { timeout: 10_000 }).toHaveLength(1);
  world.advance(LEASE_MS + 1_000);
  await work(world, made);
  await first;
  const [delivery] = await deliveriesOf(world, made);
  // The second attempt failed and has put it off; the first, which came back later, changes nothing.
  expect([delivery.status, delivery.attempts.length, delivery.attempts[0].status_code]).toEqual(["pending", 1, 500]);
});

it("rotations beside deliveries: each is accepted under one of the two secrets", { timeout: 60_000 }, async () => {
  const there = await receiver({ waitMs: 5 });
  const made = await endpoint(world, there.url, registered);
  const secrets: string[] = [made.secret];
  for (let n = 0; n < 30; n++) await anEvent(world);
  await fanOut();
  const working = work(world, made);
  for (let n = 0; n < 3; n++) {
    const body = { grace_hours: 1 };
    secrets.push(expectStatus(await world.call("POST", `${pathOf(made)}/rotate-secret`, { body }), 200).secret);
  }
  await working;
  const received = await there.received();
  expect(received).toHaveLength(30);
  for (const { headers, body } of received) {
    const faults = await Promise.all(
      secrets.map((secret) => verifyWebhook(secret, webhookHeaders(new Headers(headers)), body)),
    );
    const accepting = faults.filter((fault) => fault === null).length;
    expect(accepting).toBeGreaterThan(0);
    expect(accepting).toBeLessThanOrEqual(2);
  }
  await anEvent(world);
  await settle(world, made);
  const [last] = (await there.received()).slice(-1);
  const now = await Promise.all(
    secrets
      .slice(-2)
      .map((secret) => verifyWebhook(secret, webhookHeaders(new Headers(last?.headers)), last?.body ?? "")),
  );
  expect(now).toEqual([null, null]);
  world.advance(3_600_001);
  await anEvent(world);
  await settle(world, made);
  const [later] = (await there.received()).slice(-1);
  expect(later?.headers["webhook-signature"]?.split(" ")).toHaveLength(1);
});

it("a disabling beside deliveries: what was not sent by then waits", async () => {
  const there = await receiver({ waitMs: 100 });
  const made = await endpoint(world, there.url, registered);
  for (let n = 0; n < 60; n++) await anEvent(world);
  await fanOut();
  const working = work(world, made);
  await expect.poll(there.received, { interval: 20, timeout: 10_000 }).not.toHaveLength(0);
  expectStatus(await world.call("PATCH", pathOf(made), { body: { status: "disabled" } }), 200);
  await working;
  const sent = (await there.received()).length;
  expect(sent).toBeLessThan(60);
  // Nothing calls its object again but its owner.
  expect(await work(world, made)).toBe(null);
  expect(await there.received()).toHaveLength(sent);
  expectStatus(await world.call("PATCH", pathOf(made), { body: { status: "enabled" } }), 200);
  await work(world, made);
  const ids = (await there.received()).map(({ headers }) => headers["webhook-id"]);
  expect([ids.length, new Set(ids).size]).toEqual([60, 60]);
});

it("a deletion beside deliveries: nothing more is sent, and nothing is left", async () => {
  const there = await receiver({ waitMs: 100 });
  const made = await endpoint(world, there.url, registered);
  for (let n = 0; n < 60; n++) await anEvent(world);
  await fanOut();
  const working = work(world, made);
  await expect.poll(there.received, { interval: 20, timeout: 10_000 }).not.toHaveLength(0);
  expectStatus(await world.call("DELETE", pathOf(made)), 204);
  await working;
  const sent = (await there.received()).length;
  expect(sent).toBeLessThan(60);
  await work(world, made);
  expect(await there.received()).toHaveLength(sent);
  const left = await world.meter.d1
    .prepare("select count(*) as n from webhook_queue where webhook_id = ?")
    .bind(made.webhook_id)
    .first<{ n: number }>();
  expect(left?.n).toBe(0);
});

it("a replay beside deliveries and new events: each event comes, all with their own ids", {
  timeout: 60_000,
}, async () => {
  const own = await asleep();
  for (let n = 0; n < 10; n++) await anEvent(own);
  const there = await receiver();
  const made = await endpoint(own, there.url, registered);
  const body = { since: new Date(own.now() - 60_000).toISOString() };
  const more = async () => {
    for (let n = 0; n < 10; n++) {
      await anEvent(own);
      await own.serve(() => fanOutEvents(own.deps));
    }
  };
  await Promise.all([
    own.call("POST", `${pathOf(made)}/replay`, { body }).then((reply) => expectStatus(reply, 200)),
    more(),
    own.run(replayJob),
    work(own, made),
  ]);
  await Promise.allSettled([own.run(replayJob), own.run(replayJob)]);
  await own.run(replayJob);
  await settle(own, made);
  const events = expectStatus(await own.call("GET", "/v1/events?type=agent.registered&limit=100"), 200).data;
  const ids = (await there.received()).map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids)).toEqual(new Set(events.map(({ id }: Json) => id)));
});

it("an isolate that dies behind the POST sends the same once more, behind the lease", async () => {
  const own = await asleep();
  const there = await receiver();
  const made = await endpoint(own, there.url, registered);
  await anEvent(own);
  await own.serve(() => fanOutEvents(own.deps));
  // A batch that fails is tried once more.
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

it("where the database fails once behind a POST, what came of it is recorded all the same", async () => {
  const own = await asleep();
  const there = await receiver();
  const made = await endpoint(own, there.url, registered);
  for (let n = 0; n < 3; n++) await anEvent(own);
  await own.serve(() => fanOutEvents(own.deps));
  own.meter.beforeBatch(2, () => Promise.reject(new Error("connection lost")));
  await work(own, made);
  const statuses = async () => (await deliveriesOf(own, made)).map(({ status }) => status);
  await expect.poll(statuses, { timeout: 10_000 }).toEqual(Array(3).fill("delivered"));
  expect(await there.received()).toHaveLength(3);
});

it("a moved sandbox clock moves no retry, no secret's end and no retention", { timeout: 60_000 }, async () => {
  const moved = await createWorld();
  const there = await receiver({ status: 500 }, { status: 200 });
  const made = await endpoint(moved, there.url, registered);
  expectStatus(await moved.call("POST", `${pathOf(made)}/rotate-secret`, { body: { grace_hours: 1 } }), 200);
  for (const days of [30, 30, 30])
    expectStatus(await moved.call("POST", "/v1/sandbox/clock/advance", { body: { seconds: days * 86_400 } }), 200);
  await anEvent(moved);
  await expect.poll(there.received, { timeout: 15_000 }).toHaveLength(1);
  await expect.poll(there.received, { timeout: 15_000 }).toHaveLength(2);
  const [first, second] = await there.received();
  const waited = (second?.at ?? 0) - (first?.at ?? 0);
  expect([waited > 4_500, waited < 9_000]).toEqual([true, true]);
  expect(Math.abs(Number(second?.headers["webhook-timestamp"]) * 1_000 - Date.now())).toBeLessThan(60_000);
  expect(second?.headers["webhook-signature"]?.split(" ")).toHaveLength(2);
  expect((await deliveriesOf(moved, made))[0].attempts).toHaveLength(2);
});
