// Fan-out from events to deliveries (EVT-24): each endpoint gets the events that it selects, once each and with one stable body, even if messages are
// lost.
import { describe, expect, it } from "vitest";
import { runCron } from "../../src/cron.ts";
import { commit } from "../../src/db/batch.ts";
import { webhookQueue } from "../../src/db/tables/webhooks.ts";
import { recordEvents } from "../../src/journal/events.ts";
import { fanOutEvents, fanOutSlice } from "../../src/webhooks/fan-out.ts";
import { madeUp } from "../support/openapi.ts";
import { takeSnapshot } from "../support/snapshot.ts";
import { createWorld, env, expectStatus, type Json } from "../support/world.ts";
import {
  anEvent,
  asleep,
  atRest,
  deliveriesOf,
  drivenWorld,
  endpoint,
  receiver,
  settle,
  someEvents,
} from "./support.ts";

const world = await asleep();
const URL = "https://hooks.example.com/in";

const queued = async ({ webhook_id }: Json) =>
  (await world.deps.db.select().from(webhookQueue)).filter((row) => row.webhookId === webhook_id);
const fanOut = () => world.serve(() => fanOutEvents(world.deps));

describe("the fan-out", () => {
  it("queues an event for each endpoint of its account and environment that selects it, and for no other", async () => {
    const other = await createWorld();
    await fanOut();
    const all = await endpoint(world, URL);
    const one = await endpoint(world, URL, { event_types: ["agent.registered", "task.opened"] });
    const none = await endpoint(world, URL, { event_types: ["task.opened"] });
    const foreign = await endpoint(other, URL);
    const live = expectStatus(
      await world.call("POST", "/v1/webhooks", { body: { url: URL, event_types: ["*"] }, key: world.liveKey }),
      201,
    );
    const stopped = await endpoint(world, URL);
    expectStatus(
      await world.call("PATCH", `/v1/webhooks/${stopped.webhook_id}`, { body: { status: "disabled" } }),
      200,
    );
    const before = await takeSnapshot();
    const did = await anEvent(world);
    const written = await takeSnapshot();
    await fanOut();
    const counts = await Promise.all(
      [all, one, none, foreign, live, stopped].map(async (made) => (await queued(made)).length),
    );
    expect(counts).toEqual([1, 1, 0, 0, 0, 0]);
    const [first] = await queued(all);
    const told = await env.DB.prepare("select id, type, agent_did from events where seq = ?")
      .bind(first?.eventSeq)
      .first();
    expect(told).toEqual({ id: first?.eventId, type: "agent.registered", agent_did: did });
    // The fan-out writes only the queue, its mark and the volume counts.
    const after = await takeSnapshot();
    const changed = [...after.keys()].filter(
      (name) => JSON.stringify([...(after.get(name) ?? [])]) !== JSON.stringify([...(written.get(name) ?? [])]),
    );
    expect(changed.filter((name) => !/^(outbox|activity_|directory_)/.test(name))).toEqual([
      "account_volumes",
      "webhook_queue",
    ]);
    expect(before.get("webhook_queue")).toEqual(written.get("webhook_queue"));
  });

  it("queues nothing for an endpoint that was created after the event", async () => {
    await anEvent(world);
    const late = await endpoint(world, URL);
    await fanOut();
    expect(await queued(late)).toEqual([]);
  });

  it("queues an event once when six fan-outs run at once", async () => {
    const made = await endpoint(world, URL, { event_types: ["agent.registered"] });
    await someEvents(world, 5);
    await world.serve(() => Promise.allSettled(Array.from({ length: 6 }, () => fanOutEvents(world.deps))));
    await fanOut();
    const rows = await queued(made);
    expect(rows.map(({ eventId }) => eventId)).toEqual([...new Set(rows.map(({ eventId }) => eventId))]);
    expect(rows).toHaveLength(5);
  });

  it("queues an event once when another fan-out commits between its read and its commit", async () => {
    const made = await endpoint(world, URL, { event_types: ["agent.registered"] });
    await someEvents(world, 3);
    // The trips are: the events, their endpoints, the commit.
    world.meter.beforeBatch(3, fanOut);
    await fanOut();
    const rows = await queued(made);
    expect([rows.length, new Set(rows.map(({ eventId }) => eventId)).size]).toEqual([3, 3]);
  });

  it("is done by the minute trigger alone, as is a replay, when every message of every queue is lost", async () => {
    const lost = { send: async () => undefined, sendBatch: async () => undefined } as never;
    // The trigger wakes the endpoints of all accounts.
    await world.deps.db.delete(webhookQueue);
    const alone = await drivenWorld({ OUTBOX_QUEUE: lost, WEBHOOK_QUEUE: lost, JOB_QUEUE: lost });
    const there = await receiver();
    const made = await endpoint(alone, there.url, { event_types: ["agent.registered"] });
    await anEvent(alone);
    const minute = () =>
      alone.serve(() =>
        runCron({ cron: "* * * * *" } as ScheduledController, { ...alone.deps.env, DB: alone.meter.d1 }),
      );
    expect(await there.received()).toEqual([]);
    await minute();
    await atRest(made);
    expect(await there.received()).toHaveLength(1);
    expect((await deliveriesOf(alone, made))[0]?.status).toBe("delivered");
    const since = new Date(alone.now() - 60_000).toISOString();
    expectStatus(await alone.call("POST", `/v1/webhooks/${made.webhook_id}/replay`, { body: { since } }), 200);
    await minute();
    await atRest(made);
    expect(await there.received()).toHaveLength(2);
  });

  it("works in slices when an account has many endpoints and events", async () => {
    const own = await asleep();
    const made: Json[] = [];
    for (let n = 0; n < 20; n++) made.push(await endpoint(own, URL, { event_types: ["agent.registered"] }));
    await own.serve(() => fanOutEvents(own.deps));
    const owner = { platformId: own.platformId, environment: "sandbox" } as const;
    const each = Array.from({ length: 150 }, (_, n) => ({ owner, object: madeUp({ did: `did:aeap:${n}` }) }));
    await commit(own.deps.db, recordEvents(own.deps.db, own.now(), "agent.registered", each));
    let slices = 1;
    while (await own.serve(() => fanOutSlice(own.deps))) slices += 1;
    expect(slices).toBe(2);
    const rows = (await own.deps.db.select().from(webhookQueue)).filter(({ webhookId }) =>
      made.some(({ webhook_id }) => webhook_id === webhookId),
    );
    expect(rows).toHaveLength(3_000);
    expect(new Set(rows.map(({ webhookId, eventId }) => `${webhookId} ${eventId}`)).size).toBe(3_000);
  });
});

describe("the body", () => {
  it("is the event as the list shows it, with the same bytes for every attempt and endpoint", async () => {
    const [here, there] = [await receiver({ status: 500 }, {}), await receiver()];
    const [one, two] = [
      await endpoint(world, here.url, { event_types: ["agent.registered"] }),
      await endpoint(world, there.url, { event_types: ["agent.registered"] }),
    ];
    await anEvent(world);
    const next = await settle(world, one);
    await settle(world, two);
    world.advance((next ?? 0) - world.now() + 1);
    await settle(world, one);
    const bodies = [...(await here.received()), ...(await there.received())].map(({ body }) => body);
    expect([bodies.length, new Set(bodies).size]).toEqual([3, 1]);
    const event = JSON.parse(bodies[0] ?? "");
    expect(Object.keys(event)).toEqual(["id", "type", "occurred_at", "environment", "api_version", "data"]);
    expect(expectStatus(await world.call("GET", `/v1/events/${event.id}`), 200)).toEqual(event);
    expect(bodies[0]).not.toContain(world.key);
  });
});

it("skips the events of an account without endpoints", async () => {
  const none = await createWorld();
  await anEvent(none);
  await none.serve(() => fanOutEvents(none.deps));
  const mark = await env.DB.prepare("select seq from outbox where name = 'webhooks'").first<{ seq: number }>();
  const last = await env.DB.prepare("select max(seq) as seq from events").first<{ seq: number }>();
  expect(mark?.seq).toBe(last?.seq);
});
