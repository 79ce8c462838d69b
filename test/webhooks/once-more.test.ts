// Lists of deliveries, redelivery, replay and test events (EVT-29 to EVT-32).

import { afterEach, describe, expect, it } from "vitest";
import { computeFirstId } from "../../src/core/ids.ts";
import { Conflict } from "../../src/core/retry.ts";
import { commit, readBatch } from "../../src/db/batch.ts";
import { webhookDeliveries, webhookEndpoints, webhookQueue } from "../../src/db/tables/webhooks.ts";
import { advanceWalk, findWalk } from "../../src/jobs/walk-store.ts";
import { queueDeliveries } from "../../src/webhooks/queue-store.ts";
import { replayJob } from "../../src/webhooks/replay.ts";
import { pruneDeliveries } from "../../src/webhooks/sweep.ts";
import { madeUp } from "../support/openapi.ts";
import { expectStatus, type Json } from "../support/world.ts";
import { anEvent, asleep, deliveriesOf, endpoint, receiver, settle, someEvents, work } from "./support.ts";

const world = await asleep();
const DAY_MS = 86_400_000;
const registered = { event_types: ["agent.registered"] };

const idsOf = (rows: Json[]) => rows.map(({ delivery_id }) => delivery_id);
const pathOf = ({ webhook_id }: Json) => `/v1/webhooks/${webhook_id}`;

async function pages(made: Json, query = ""): Promise<Json[]> {
  const rows: Json[] = [];
  for (let cursor = ""; ; ) {
    const page = expectStatus(await world.call("GET", `${pathOf(made)}/deliveries?limit=2${query}${cursor}`), 200);
    rows.push(...page.data);
    if (!page.has_more) return rows;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

// An account may have few endpoints, and this file creates many.
afterEach(async () => {
  await world.deps.db.delete(webhookEndpoints);
});

describe("GET …/deliveries", () => {
  it("lists tried and untried deliveries together, newest first, page by page", async () => {
    const there = await receiver({ status: 200 }, { status: 500 }, { status: 200 }, { status: 500 });
    const made = await endpoint(world, there.url, registered);
    await someEvents(world, 3);
    await settle(world, made);
    await someEvents(world, 3);
    // Fanned out, but not delivered.
    await settle(world, { webhook_id: "whe_none" });
    const all = await pages(made);
    expect(all).toHaveLength(6);
    expect(idsOf(all)).toEqual(idsOf(all).toSorted().reverse());
    expect(all.slice(0, 3).every(({ status, attempts }) => status === "pending" && attempts.length === 0)).toBe(true);
    const delivered = all.filter(({ status }) => status === "delivered");
    expect(idsOf(await pages(made, "&status=delivered"))).toEqual(idsOf(delivered));
    expect(idsOf(await pages(made, "&status=pending"))).toEqual(
      idsOf(all.filter(({ status }) => status === "pending")),
    );
    expect(await pages(made, "&status=failed")).toEqual([]);
    expect(await pages(made, "&event_type=task.opened")).toEqual([]);
    expect(await pages(made, `&event_id=${all[4].event_id}`)).toEqual([all[4]]);
    expect(await pages(made, `&event_id=${all[0].event_id}`)).toEqual([all[0]]);
  });

  it.each([
    ["?status=open", "status"],
    ["?event_type=agent.painted", "event_type"],
    ["?limit=0", "limit"],
    ["?cursor=x", "cursor"],
    ["?since=2026-01-01T00:00:00Z", "since"],
  ])("refuses %s", async (query, field) => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    const reply = await world.call("GET", `${pathOf(made)}/deliveries${query}`);
    expect([reply.status, reply.body.field_errors[0].field]).toEqual([422, field]);
  });

  it("shows 30 days, and answers 410 to an older cursor", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, registered);
    await someEvents(world, 3);
    await settle(world, made);
    const { next_cursor } = expectStatus(await world.call("GET", `${pathOf(made)}/deliveries?limit=2`), 200);
    const [{ delivery_id }] = await deliveriesOf(world, made);
    world.advance(30 * DAY_MS + 60_000);
    expect(await deliveriesOf(world, made)).toEqual([]);
    const late = await world.call("GET", `${pathOf(made)}/deliveries?limit=2&cursor=${next_cursor}`);
    expect([late.status, late.body.code]).toEqual([410, "cursor_expired"]);
    expect((await world.call("POST", `${pathOf(made)}/deliveries/${delivery_id}/redeliver`)).status).toBe(404);
    await world.run(pruneDeliveries);
    const left = (await world.deps.db.select().from(webhookDeliveries)).filter(
      ({ webhookId }) => webhookId === made.webhook_id,
    );
    expect(left).toEqual([]);
  });

  it("loses old deliveries of many endpoints to pruning in slices, and keeps young ones", async () => {
    const { db } = world.deps;
    const old = world.now() - 31 * DAY_MS;
    const row = (webhookId: string, at: number) => ({
      webhookId,
      deliveryId: computeFirstId("dlv", at).replace(/.$/, String(at % 10)),
      nextAt: at,
      eventSeq: 0,
      eventId: "evt_1",
      eventType: "task.opened",
    });
    const rows = Array.from({ length: 3 }, (_, n) => n).flatMap((n) =>
      Array.from({ length: 450 }, (_, at) => row(`whe_prune${n}`, old + at)),
    );
    const young = row("whe_prune1", world.now());
    await commit(db, queueDeliveries(db, [...rows, young]));
    await world.run(pruneDeliveries);
    const left = (await db.select().from(webhookQueue)).filter(({ webhookId }) => webhookId.startsWith("whe_prune"));
    expect(left.map(({ deliveryId }) => deliveryId)).toEqual([young.deliveryId]);
  });
});

describe("POST …/redeliver", () => {
  it("sends a delivered event again, with the same bytes and a new signature", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, registered);
    await anEvent(world);
    await settle(world, made);
    const [{ delivery_id }] = await deliveriesOf(world, made);
    const again = await world.call("POST", `${pathOf(made)}/deliveries/${delivery_id}/redeliver`);
    expect(expectStatus(again, 200)).toMatchObject({ delivery_id, status: "pending" });
    await work(world, made);
    const [first, second, ...more] = await there.received();
    expect([second?.body, second?.headers["webhook-id"], more]).toEqual([
      first?.body,
      first?.headers["webhook-id"],
      [],
    ]);
    expect((await deliveriesOf(world, made))[0].attempts).toHaveLength(2);
  });

  it("brings a waiting delivery forward, and sends it once when it is called ten times at once", async () => {
    const there = await receiver({ status: 500 }, { status: 200 });
    const made = await endpoint(world, there.url, registered);
    await anEvent(world);
    await settle(world, made);
    const [{ delivery_id }] = await deliveriesOf(world, made);
    const path = `${pathOf(made)}/deliveries/${delivery_id}/redeliver`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.call("POST", path)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    await work(world, made);
    expect(await there.received()).toHaveLength(2);
    expect((await deliveriesOf(world, made))[0]).toMatchObject({ status: "delivered" });
  });

  it("runs once under its Idempotency-Key", async () => {
    const there = await receiver();
    const made = await endpoint(world, there.url, registered);
    await anEvent(world);
    await settle(world, made);
    const [{ delivery_id }] = await deliveriesOf(world, made);
    for (let n = 0; n < 3; n++) {
      const headers = { "Idempotency-Key": `again-${delivery_id}` };
      expectStatus(await world.call("POST", `${pathOf(made)}/deliveries/${delivery_id}/redeliver`, { headers }), 200);
      await work(world, made);
    }
    expect(await there.received()).toHaveLength(2);
  });

  it.each(["dlv_01ARZ3NDEKTSV4RRFFQ69G5FAV", "dlv_x", "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV"])("is 404: %s", async (id) => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    expect((await world.call("POST", `${pathOf(made)}/deliveries/${id}/redeliver`)).status).toBe(404);
  });

  it("answers 404 to a delivery of another endpoint", async () => {
    const [one, two] = [await endpoint(world, (await receiver()).url), await endpoint(world, (await receiver()).url)];
    const { delivery_id } = expectStatus(await world.call("POST", `${pathOf(one)}/test`), 200);
    expect((await world.call("POST", `${pathOf(two)}/deliveries/${delivery_id}/redeliver`)).status).toBe(404);
  });
});

describe("POST …/test", () => {
  it("sends an event to this endpoint only, whatever it selects", async () => {
    const [here, there] = [await receiver(), await receiver()];
    const made = await endpoint(world, here.url, { event_types: ["task.opened"] });
    const other = await endpoint(world, there.url);
    const sent = expectStatus(await world.call("POST", `${pathOf(made)}/test`), 200);
    expect(sent).toMatchObject({ event_type: "webhook.test", status: "pending", attempts: [] });
    await settle(world, made);
    await settle(world, other);
    expect((await there.received()).filter(({ body }) => body.includes("webhook.test"))).toEqual([]);
    const [got, ...more] = await here.received();
    expect(more).toEqual([]);
    expect(JSON.parse(got?.body ?? "")).toMatchObject({
      id: sent.event_id,
      data: { object: { webhook_id: made.webhook_id } },
    });
    expect(got?.body).not.toContain("whsec_");
    expect(expectStatus(await world.call("GET", `/v1/events/${sent.event_id}`), 200).type).toBe("webhook.test");
    const listed = expectStatus(await world.call("GET", `/v1/events?subject=${made.webhook_id}`), 200).data;
    expect(listed.map(({ id }: Json) => id)).toEqual([sent.event_id]);
  });
});

describe("POST …/replay", () => {
  const replay = (made: Json, since: string) => world.call("POST", `${pathOf(made)}/replay`, { body: { since } });
  const eventsOf = async (there: { received: () => Promise<{ body: string }[]> }) =>
    (await there.received()).map(({ body }) => JSON.parse(body).id as string);

  it("queues each event after a given one again, if the endpoint selects it", async () => {
    const own = await asleep();
    const dids: string[] = [];
    for (let n = 0; n < 4; n++) dids.push(await anEvent(own));
    expectStatus(await own.call("POST", `/v1/agents/${dids[3]}/activate`), 200);
    const listed = expectStatus(await own.call("GET", "/v1/events?type=agent.registered"), 200).data.reverse();
    const there = await receiver();
    const made = await endpoint(own, there.url, registered);
    const view = expectStatus(await own.call("POST", `${pathOf(made)}/replay`, { body: { since: listed[1].id } }), 200);
    expect(view).toMatchObject({ webhook_id: made.webhook_id, since: listed[1].id });
    await own.run(replayJob);
    await work(own, made);
    expect((await eventsOf(there)).sort()).toEqual([listed[2].id, listed[3].id].sort());
    await own.run(replayJob);
    expect(await work(own, made)).toBe(null);
  });

  it("queues the events after an instant again, in slices if there are many", async () => {
    const own = await asleep();
    const { db } = own.deps;
    const { recordEvent } = await import("../../src/journal/events.ts");
    const owner = { platformId: own.platformId, environment: "sandbox" } as const;
    for (let n = 0; n < 12; n++)
      await commit(
        db,
        Array.from({ length: 60 }, (_, at) =>
          recordEvent(db, owner, own.now(), {
            type: "agent.registered",
            object: madeUp({ did: `did:aeap:${n}-${at}` }),
          }),
        ),
      );
    const made = await endpoint(own, "https://hooks.example.com/", registered);
    const since = new Date(own.now() - DAY_MS).toISOString();
    expectStatus(await own.call("POST", `${pathOf(made)}/replay`, { body: { since } }), 200);
    // The isolate dies in the middle, and the job continues from there.
    own.meter.beforeBatch(6, () => Promise.reject(new Error("the isolate died")));
    await own.run(replayJob).catch(() => undefined);
    await own.run(replayJob);
    const rows = (await db.select().from(webhookQueue)).filter(({ webhookId }) => webhookId === made.webhook_id);
    expect([rows.length, new Set(rows.map(({ eventId }) => eventId)).size]).toEqual([720, 720]);
  });

  it("refuses a position that is invalid, in the future, or too old", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    const of = async (since: string) => {
      const { status, body } = await replay(made, since);
      return [status, body.code, body.field_errors?.[0].code];
    };
    expect(await of("yesterday")).toEqual([422, "validation_failed", "invalid_format"]);
    expect(await of(new Date(world.now() + 60_000).toISOString())).toEqual([422, "validation_failed", "invalid_value"]);
    expect(await of(computeFirstId("evt", world.now()))).toEqual([422, "validation_failed", "not_found"]);
    expect(await of(computeFirstId("evt", world.now() - 31 * DAY_MS))).toEqual([410, "cursor_expired", undefined]);
    expectStatus(await replay(made, new Date(world.now() - 90 * DAY_MS).toISOString()), 200);
  });

  it("ends without queueing anything if its endpoint is disabled meanwhile", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    expectStatus(await replay(made, new Date(world.now() - 60_000).toISOString()), 200);
    expectStatus(await world.call("PATCH", pathOf(made), { body: { status: "disabled" } }), 200);
    await world.run(replayJob);
    expect(await deliveriesOf(world, made)).toEqual([]);
    expect(await world.run(replayJob)).toBe(0);
  });

  it("is not ended by a job that has read an earlier replay", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    const since = new Date(world.now() - 60_000).toISOString();
    expectStatus(await replay(made, since), 200);
    const { db } = world.deps;
    const { read } = await readBatch(db, { read: findWalk(db, "replay", made.webhook_id) });
    if (read === null) throw new Error("no replay");
    world.advance(1_000);
    expectStatus(await replay(made, since), 200);
    for (const next of [null, { at: read.payload.toSeq, id: "" }])
      await expect(commit(db, advanceWalk(db, read, next))).rejects.toThrow(Conflict);
    await world.run(replayJob);
    expect((await readBatch(db, { read: findWalk(db, "replay", made.webhook_id) })).read).toBe(null);
  });

  it("knows which events are too old in a sandbox whose clock was moved", async () => {
    const moved = await asleep();
    const made = await endpoint(moved, "https://hooks.example.com/", registered);
    const day = DAY_MS / 1_000;
    for (const seconds of [30 * day, 10 * day])
      expectStatus(await moved.call("POST", "/v1/sandbox/clock/advance", { body: { seconds } }), 200);
    const old = computeFirstId("evt", moved.now() + 5 * DAY_MS);
    const answers = [
      await moved.call("POST", `${pathOf(made)}/replay`, { body: { since: old } }),
      await moved.call("GET", `/v1/events?since=${old}`),
    ];
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual(Array(2).fill([410, "cursor_expired"]));
  });

  it("may be requested ten times in 24 hours, also by concurrent calls", async () => {
    const made = await endpoint(world, "https://hooks.example.com/", registered);
    const since = new Date(world.now() - 1_000).toISOString();
    const answers = [];
    for (let n = 0; n < 4; n++)
      answers.push(...(await Promise.all([1, 2, 3].map(() => replay(made, since)))).map(({ status }) => status));
    expect(answers.filter((status) => status === 200)).toHaveLength(10);
    expect(answers.filter((status) => status === 429)).toHaveLength(2);
    const refused = await replay(made, since);
    expect([refused.body.code, Number(refused.headers.get("retry-after")) > 86_000]).toEqual(["rate_limited", true]);
    world.advance(DAY_MS + 1_000);
    expectStatus(await replay(made, since), 200);
  });
});
