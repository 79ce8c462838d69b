// The volume of an account (EVT-35): what counts, and only once; when the account is marked, and for how long; what operators see of it (EVT-36).
import { describe, expect, it } from "vitest";
import { mailNotices } from "../../src/accounts/notices.ts";
import { buildDeps, type Env } from "../../src/context.ts";
import { DAY_MS } from "../../src/core/limits.ts";
import { commit } from "../../src/db/batch.ts";
import { recordEvents } from "../../src/journal/events.ts";
import { fanOutEvents } from "../../src/webhooks/fan-out.ts";
import { replayJob } from "../../src/webhooks/replay.ts";
import { operate } from "../accounts/review-support.ts";
import { stopped } from "../support/clock.ts";
import { cutsOf, killAtEveryStep, namesOf } from "../support/cuts.ts";
import { madeUp } from "../support/openapi.ts";
import {
  createWorld,
  env,
  expectStatus,
  ISSUER,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";
import { endpoint, someEvents } from "./support.ts";

const WEBHOOKS = { idFromName: () => null, get: () => ({ wake: () => undefined }) } as never;
const URL = "https://hooks.example.com/in";
const [LIMIT, MEGABYTE] = [10, 1_000_000];
const SMALL = { EVENTS_A_DAY: `sandbox=${LIMIT},production=1000`, EVENT_MEGABYTES_A_DAY: "sandbox=1,production=1" };

/** An account in the middle of a day, on a clock that only `advance` moves. */
async function account(vars: Partial<Env> = SMALL): Promise<World> {
  const world = await createWorld({ WEBHOOKS, ...vars });
  world.advance(DAY_MS * 1.5 - (world.now() % DAY_MS));
  return stopped(world);
}
const fanOut = (world: World) => world.serve(() => fanOutEvents(world.deps));
const usageOf = async (world: World, platformId = world.platformId): Promise<Json> =>
  expectStatus(await operate(world, "GET", `/v1/operator/platforms/${platformId}/usage`), 200);
const counted = async (world: World) => {
  const { events, deliveries, event_bytes } = (await usageOf(world)).sandbox;
  return { events, deliveries, event_bytes };
};
const alertsOf = async (world: World): Promise<string[]> => {
  const { results } = await env.DB.prepare(
    "select subject from alerts where kind = 'volume' and subject like ? order by raised_at, subject",
  )
    .bind(`${world.platformId}%`)
    .all<{ subject: string }>();
  return results.map(({ subject }) => subject.slice(world.platformId.length + 1));
};
const create = (world: World, options: Json = {}): Promise<Reply> =>
  world.call("POST", "/v1/principals", { body: principalBody(), ...options });

/** The bytes of the listed events, which are the bodies of their deliveries. */
async function bodyBytes(world: World): Promise<number> {
  const { results } = await env.DB.prepare("select id from events where platform_id = ?").bind(world.platformId).all();
  const bodies = results.map(async ({ id }) => (await world.call("GET", `/v1/events/${id}`)).bytes.length);
  return (await Promise.all(bodies)).reduce((sum, bytes) => sum + bytes, 0);
}

describe("events", () => {
  it("count once, and again for each endpoint that gets them, with their bytes, also with concurrent fan-outs", async () => {
    const world = await account({});
    await fanOut(world);
    const [one] = [
      await endpoint(world, URL),
      await endpoint(world, URL),
      await endpoint(world, URL, { event_types: ["task.opened"] }),
    ];
    await someEvents(world, 3);
    await Promise.all(Array.from({ length: 6 }, () => fanOut(world)));
    const bytes = await bodyBytes(world);
    expect(await counted(world)).toEqual({ events: 3, deliveries: 6, event_bytes: 3 * bytes });
    // A test event goes to one endpoint only.
    expectStatus(await world.call("POST", `/v1/webhooks/${one.webhook_id}/test`), 200);
    await fanOut(world);
    expect(await counted(world)).toMatchObject({ events: 4, deliveries: 7 });
    expect((await usageOf(world)).production).toMatchObject({ events: 0, deliveries: 0, event_bytes: 0 });
  });

  it("count once after a crash at any step of the fan-out", async () => {
    const world = await account({});
    await endpoint(world, URL, { event_types: ["agent.registered"] });
    const cuts = await killAtEveryStep(
      async () => {
        await someEvents(world, 2);
        return { world, before: await counted(world) };
      },
      (dying) => fanOutEvents(dying.deps),
      async ({ before }) => {
        await fanOut(world);
        const after = await counted(world);
        expect([after.events - before.events, after.deliveries - before.deliveries]).toEqual([2, 2]);
      },
    );
    expect(namesOf(cuts)).toEqual(cutsOf(["DB.batch", "DB.batch", "DB.batch", "WEBHOOK_QUEUE.sendBatch"]));
  });

  it("count again with each delivery of a replay", async () => {
    const world = await account({});
    await someEvents(world, 3);
    await fanOut(world);
    const made = await endpoint(world, URL);
    const since = new Date(world.now() - DAY_MS).toISOString();
    expectStatus(await world.call("POST", `/v1/webhooks/${made.webhook_id}/replay`, { body: { since } }), 200);
    const before = await counted(world);
    await world.run(replayJob);
    const bytes = await bodyBytes(world);
    expect(await counted(world)).toEqual({
      events: before.events,
      deliveries: 3,
      event_bytes: before.event_bytes + bytes,
    });
  });
});

describe("an account that has used up its events of the day", () => {
  const full = async (): Promise<World> => {
    const world = await account();
    await someEvents(world, LIMIT);
    await fanOut(world);
    return world;
  };
  const refusalOf = ({ status, body, headers }: Reply) => [status, body.code, body.detail, headers.get("retry-after")];

  it("is refused until the UTC day ends, to the millisecond, and then starts from zero", async () => {
    const world = await full();
    const end = world.now() - (world.now() % DAY_MS) + DAY_MS;
    const detail = { quota: "events", limit: LIMIT, resets_at: new Date(end).toISOString() };
    expect(refusalOf(await create(world))).toEqual([429, "rate_limited", detail, String((end - world.now()) / 1_000)]);
    expect((await usageOf(world)).sandbox).toMatchObject({ events: LIMIT, used_up: "events" });
    world.advance(end - world.now() - 1);
    expect((await create(world)).status).toBe(429);
    world.advance(1);
    expectStatus(await create(world), 201);
    expect((await usageOf(world)).sandbox).toMatchObject({ events: 0, event_bytes: 0, used_up: null });
    await someEvents(world, 1);
    await fanOut(world);
    expect(await counted(world)).toMatchObject({ events: 1, deliveries: 0 });
  });

  it("is marked by the event that reaches the limit and not before, with an alert at 80 % and another one at the limit", async () => {
    const world = await account();
    await endpoint(world, URL, { event_types: ["agent.registered"] });
    await someEvents(world, 3);
    await fanOut(world);
    expect(await alertsOf(world)).toEqual([]);
    await someEvents(world, 1);
    await fanOut(world);
    expect(await alertsOf(world)).toEqual(["sandbox 80 %"]);
    expectStatus(await create(world), 201);
    await someEvents(world, 1);
    await fanOut(world);
    expect(await alertsOf(world)).toEqual(["sandbox", "sandbox 80 %"]);
    expect((await create(world)).status).toBe(429);
    // Further events are counted, but raise no second alert.
    await someEvents(world, 1);
    await fanOut(world);
    expect(await counted(world)).toMatchObject({ events: 6, deliveries: 6 });
    const seen = await env.DB.prepare("select seen from alerts where subject = ?")
      .bind(`${world.platformId} sandbox`)
      .first();
    expect(seen).toEqual({ seen: 1 });
  });

  it("is marked by bytes as well as by number", async () => {
    const world = await account();
    const owner = { platformId: world.platformId, environment: "sandbox" } as const;
    const object = madeUp({ did: "did:aeap:none", description: "é".repeat(200_000) });
    await commit(
      world.deps.db,
      recordEvents(world.deps.db, world.now(), "agent.registered", [
        { owner, object },
        { owner, object },
      ]),
    );
    await fanOut(world);
    expectStatus(await create(world), 201);
    await commit(world.deps.db, recordEvents(world.deps.db, world.now(), "agent.registered", [{ owner, object }]));
    await fanOut(world);
    expect((await create(world)).body.detail).toMatchObject({ quota: "event_bytes", limit: MEGABYTE });
  });

  it("is not refused in the other environment, and neither is another account, an agent or an operator", async () => {
    const world = await account();
    const agent = await world.consumer();
    const other = await account();
    await someEvents(world, LIMIT);
    await fanOut(world);
    expect((await create(world)).status).toBe(429);
    const headers = { Authorization: `Bearer ${await world.session()}` };
    expect((await create(world, { key: null, headers })).status).toBe(429);
    expect((await create(world, { key: world.liveKey })).status).not.toBe(429);
    expectStatus(await create(other), 201);
    const claim = { intent_id: "pin_x", payment_tx: `0x${"1".repeat(64)}` };
    expect((await world.as(agent, "POST", "/v1/facilitate", claim)).status).toBe(404);
    const path = `/v1/operator/platforms/${world.platformId}`;
    expectStatus(await operate(world, "POST", `${path}/suspend`, { reason: "Floods." }), 200);
    expectStatus(await operate(world, "POST", `${path}/reinstate`, { reason: "Has stopped." }), 200);
  });

  it("still gets the stored answer of an earlier call, and its refusals take one trip", async () => {
    const world = await account();
    const [body, headers] = [principalBody(), { "Idempotency-Key": "before" }];
    const made = expectStatus(await create(world, { body, headers }), 201);
    await someEvents(world, LIMIT);
    await fanOut(world);
    const again = await create(world, { body, headers });
    expect([expectStatus(again, 201), again.headers.get("idempotent-replayed")]).toEqual([made, "true"]);
    world.meter.reset();
    expect((await create(world, { body, headers: { "Idempotency-Key": "after" } })).status).toBe(429);
    expect(world.meter.reading.trips).toBe(1);
    // The refusal is not stored.
    world.advance(DAY_MS);
    expect((await create(world, { body, headers: { "Idempotency-Key": "after" } })).status).not.toBe(429);
  });

  it("is refused before its request is judged", async () => {
    const world = await full();
    for (const [method, path, body] of [
      ["POST", "/v1/principals", {}],
      ["PATCH", "/v1/agents/did:aeap:none/scope", { colour: 1 }],
    ] as const)
      expect((await world.call(method, path, { body })).status).toBe(429);
  });
});

describe("GET /v1/operator/platforms/{platform_id}/usage", () => {
  it("shows each environment separately, the day, the endpoints, and what is stored and mailed", async () => {
    const world = await account();
    await endpoint(world, URL);
    expectStatus(
      await world.call("POST", "/v1/webhooks", { key: world.liveKey, body: { url: URL, event_types: ["*"] } }),
      201,
    );
    expectStatus(await world.call("POST", "/v1/platform/keys/rotate", { body: { grace_hours: 1 } }), 200);
    await world.run(mailNotices);
    await fanOut(world);
    const day = world.now() - (world.now() % DAY_MS);
    const usage = await usageOf(world);
    const entries = await env.DB.prepare("select count(*) as n from activity_entries where platform_id = ?")
      .bind(world.platformId)
      .first();
    const none = { events: 0, deliveries: 0, event_bytes: 0, used_up: null };
    expect(usage).toMatchObject({
      platform_id: world.platformId,
      since: new Date(day).toISOString(),
      resets_at: new Date(day + DAY_MS).toISOString(),
      sandbox: { endpoints: 1, limits: { events: LIMIT, event_bytes: MEGABYTE } },
      production: { endpoints: 1, limits: { events: 1_000, event_bytes: MEGABYTE } },
      rows: entries?.["n"],
      // One for the key, and one for each endpoint.
      mails: 3,
    });
    expect([usage.sandbox.events, usage.production.events]).toEqual([1, 1]);
    world.advance(DAY_MS);
    expect(await usageOf(world)).toMatchObject({ sandbox: none, production: none, mails: 0, rows: entries?.["n"] });
  });

  it("reads as many rows for an account with many events as for one with few", async () => {
    const world = await account({});
    const cost = async () => {
      world.meter.reset();
      await usageOf(world);
      return world.meter.reading;
    };
    await someEvents(world, 1);
    await fanOut(world);
    const few = await cost();
    await someEvents(world, 300);
    await fanOut(world);
    expect(await cost()).toEqual(few);
    expect(few.trips).toBe(1);
  });

  it("answers 404 for an unknown account", async () => {
    const world = await account();
    const reply = await operate(world, "GET", "/v1/operator/platforms/plt_0/usage");
    expect([reply.status, reply.body.code]).toEqual([404, "not_found"]);
  });
});

describe("the configuration of the volume", () => {
  it.each([
    [{ EVENTS_A_DAY: "50000" }, "EVENTS_A_DAY must be sandbox=…,production=…"],
    [{ EVENTS_A_DAY: "sandbox=0,production=1" }, "EVENTS_A_DAY must be sandbox=…,production=…"],
    [{ EVENT_MEGABYTES_A_DAY: "production=1,sandbox=1" }, "EVENT_MEGABYTES_A_DAY must be sandbox=…,production=…"],
  ])("%j is refused", (vars, message) => {
    expect(() => buildDeps({ ...env, ...vars }, ISSUER)).toThrow(message);
  });
});
