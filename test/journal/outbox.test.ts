// The outbox delivers events in order, each at least once, also after losses and failures (EVT-4).

import { beforeEach, describe, expect, it, vi } from "vitest";
import { commitAll } from "../../src/commit.ts";
import { commit } from "../../src/db/batch.ts";
import { type EventRow, events, outbox } from "../../src/db/tables/journal.ts";
import { recordActivity } from "../../src/journal/activity.ts";
import { deliverNewEvents, deliverNextSlice, recordEvent, type Subscriber } from "../../src/journal/events.ts";
import { recordDeparture } from "../../src/journal/feed.ts";
import { madeUp } from "../support/openapi.ts";
import { deliver, deliverAll } from "../support/queue.ts";
import { createWorld, type World } from "../support/world.ts";

let world: World;
let seen: EventRow[];
const collect: Subscriber = async (_deps, fresh) => {
  seen.push(...fresh);
  return [];
};

beforeEach(async () => {
  world = await createWorld();
  seen = [];
  await deliverNewEvents(world.deps, []);
});

/** Records events as a change does. */
const record = (count: number) =>
  commit(
    world.deps.db,
    Array.from({ length: count }, (_one, n) => {
      const owner = { platformId: world.platformId, environment: "sandbox" as const };
      return recordEvent(world.deps.db, owner, Date.now(), { type: "task.closed", object: madeUp({ n }) });
    }),
  );
const numbers = () => seen.map(({ object }) => object["n"]);

describe("delivery", () => {
  it("continues slice by slice to the end, in the order of the commits", async () => {
    for (let batch = 0; batch < 5; batch++) await record(50);
    expect(await deliverNewEvents(world.deps, [collect])).toBe(250);
    const order = seen.map(({ seq }) => seq);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(new Set(order).size).toBe(250);
    expect(await deliverNewEvents(world.deps, [collect])).toBe(0);
  });

  it("delivers the same events again after a failure", async () => {
    await record(3);
    const breaks: Subscriber = async () => {
      throw new Error("the subscriber failed");
    };
    await expect(deliverNewEvents(world.deps, [collect, breaks])).rejects.toThrow("the subscriber failed");
    expect(await deliverNewEvents(world.deps, [collect])).toBe(3);
    expect(numbers()).toEqual([0, 1, 2, 0, 1, 2]);
  });

  it("skips nothing when two runs overlap", async () => {
    await record(3);
    const outcomes = await Promise.allSettled([
      deliverNextSlice(world.deps, [collect]),
      deliverNextSlice(world.deps, [collect]),
    ]);
    expect(outcomes.some(({ status }) => status === "fulfilled")).toBe(true);
    expect(new Set(numbers())).toEqual(new Set([0, 1, 2]));
    expect(await deliverNewEvents(world.deps, [collect])).toBe(0);
  });

  it("is done once for several messages of one batch, and none of them is retried", async () => {
    await record(3);
    const messages = Array.from({ length: 8 }, () => ({ kind: "hand_on_events" }));
    const outcome = await deliver(world, "agent-accountability-outbox", messages);
    expect(outcome).toEqual({ acknowledged: [0, 1, 2, 3, 4, 5, 6, 7], retried: [] });
    expect(await deliverNewEvents(world.deps, [collect])).toBe(0);
  });
});

describe("messages of one batch", () => {
  const queue = "agent-accountability-outbox";
  const asking = (...activityOf: string[]) => ({ kind: "hand_on_events", activityOf });

  it("cost as many trips together as one of them", async () => {
    const trips = async (count: number) => {
      await record(3);
      world.meter.reset();
      await deliver(
        world,
        queue,
        Array.from({ length: count }, () => asking(world.platformId)),
      );
      return world.meter.reading.trips;
    };
    expect(await trips(8)).toBe(await trips(1));
  });

  it.each([
    ["the delivery of events", 1, { acknowledged: [], retried: [0, 1, 2] }],
    ["the list of events", 2, { acknowledged: [], retried: [0, 1, 2] }],
    ["the fan-out to webhooks", 3, { acknowledged: [], retried: [0, 1, 2] }],
    ["the hashing of one log", 4, { acknowledged: [1, 2], retried: [0] }],
  ])("are retried if %s fails that they ask for, and no others", async (_what, trip, outcome) => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const [broken, sound] = [await createWorld(), await createWorld()];
    // The first trips start in this order: the events, their list, the fan-out, and each log.
    world.meter.beforeBatch(trip, () => Promise.reject(new Error("the database is not reachable")));
    const messages = [asking(broken.platformId), asking(sound.platformId), { kind: "hand_on_events" }];
    expect(await deliver(world, queue, messages)).toEqual(outcome);
    log.mockRestore();
  });
});

describe("a committed change", () => {
  it("notifies the queue, and the queue delivers its events", async () => {
    const marked = async () => (await world.deps.db.select().from(outbox)).find(({ name }) => name === "all")?.seq ?? 0;
    const quiet = await createWorld();
    await quiet.agent("CONSUMER");
    const sent = quiet.sent.filter(({ queue }) => queue.endsWith("-outbox")).map(({ body }) => body);
    expect(sent.length).toBeGreaterThan(0);
    const told = { kind: "hand_on_events", activityOf: [quiet.platformId] };
    for (const message of sent) expect(message).toMatchObject(told);
    // The last message is of the activation, which the directory lists.
    expect(sent.at(-1)).toEqual({ ...told, listedIn: ["sandbox"] });
    const before = await marked();
    await deliverAll(quiet);
    const [newest] = (await world.deps.db.select().from(events)).toSorted((a, b) => b.seq - a.seq);
    expect(newest?.seq).toBeGreaterThan(before);
    expect(await marked()).toBe(newest?.seq);
  });

  it("notifies the queue once of everything that its statements write, even if they are copies", async () => {
    const { deps, platformId, sent } = world;
    const owner = { platformId, environment: "sandbox" as const };
    const actor = { type: "system" as const, id: "test" };
    const entry = { action: "agent.updated" as const, actor, subject: { type: "agent", id: "did:aeap:none" } };
    const statements = [
      recordEvent(deps.db, owner, Date.now(), { type: "task.closed", object: madeUp({ n: 1 }) }),
      recordActivity(deps.db, owner, Date.now(), entry),
      recordActivity(deps.db, owner, Date.now(), entry),
      recordDeparture(deps.db, { environment: "production", did: "did:aeap:none" }),
    ];
    sent.length = 0;
    await commitAll(
      deps,
      statements.map((one) => ("notifies" in one ? { ...one } : one)),
    );
    const message = { kind: "hand_on_events", activityOf: [platformId], listedIn: ["production"] };
    expect(sent.map(({ body }) => body)).toEqual([message]);
  });
});
