// One effect per Idempotency-Key, whatever is sent again under it (IDM-1 to IDM-7).
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { withConfig, withDeps } from "../support/variants.ts";
import { agentBody, createWorld, env, expectStatus, principalBody, type World } from "../support/world.ts";
import { activate, failingCommit, isReplay, register, withRef } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("a retry", () => {
  it("is answered with the original answer, marked as replayed, and has no effect", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const first = await register(world, key, body);
    const second = await register(world, key, body);
    expect([first.status, isReplay(first)]).toEqual([201, false]);
    expect([second.status, isReplay(second)]).toEqual([201, true]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("content-type")).toBe("application/json");
    expect(second.headers.get("request-id")).not.toBe(first.headers.get("request-id"));
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("that is one of a hundred simultaneous calls makes no second principal", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const replies = await Promise.all(Array.from({ length: 100 }, () => register(world, key, body)));
    const created = replies.filter(({ status }) => status === 201);
    const processing = replies.filter(({ status }) => status === 409);
    expect(created.length).toBeGreaterThan(0);
    expect(created.length + processing.length).toBe(100);
    expect(new Set(created.map((reply) => reply.body.principal_id)).size).toBe(1);
    expect(created.filter((reply) => !isReplay(reply))).toHaveLength(1);
    for (const reply of processing) {
      expect(reply.body.code).toBe("idempotency_key_processing");
      expect(reply.headers.get("retry-after")).toBe("1");
    }
    expect(await withRef(body["external_ref"])).toBe(1);
    expect(isReplay(await register(world, key, body))).toBe(true);
  });

  it("with another body is 422 idempotency_key_reused, and only the first effect exists", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(world, key, body), 201);
    const other = principalBody();
    const reply = await register(world, key, other);
    expect([reply.status, reply.body.code]).toEqual([422, "idempotency_key_reused"]);
    expect(await withRef(other["external_ref"])).toBe(0);
  });

  it("with the members in another order, other spacing and other escapes has the same body", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const first = expectStatus(await register(world, key, body), 201);
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(body).reverse()), null, 2).replaceAll(
      "Acme",
      "\\u0041cme",
    );
    expect(reordered).not.toBe(JSON.stringify(body));
    const reply = await register(world, key, null, { rawBody: reordered });
    expect([reply.status, isReplay(reply), reply.body]).toEqual([201, true, first]);
  });

  it("with the key in double quotes has the same key", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(world, `"${key}"`, body), 201);
    expect(isReplay(await register(world, key, body))).toBe(true);
  });

  it("of another path or another method is another call", async () => {
    const key = crypto.randomUUID();
    const [a, b] = [await world.draft("CONSUMER"), await world.draft("CONSUMER")];
    const [first, second] = [await activate(world, a.did, key), await activate(world, b.did, key)];
    expect([first.status, second.status, isReplay(second)]).toEqual([200, 200, false]);
    expect(first.body.private_key).not.toBe(second.body.private_key);
  });

  it("gets the refusal of the first call, though it would succeed by now", async () => {
    const principal_id = await world.principal();
    const body = { ...agentBody("CONSUMER"), principal_id };
    const key = crypto.randomUUID();
    const send = () => world.call("POST", "/v1/agents", { body, headers: { "Idempotency-Key": key } });
    await env.DB.prepare("update principals set status = 'SUSPENDED' where principal_id = ?").bind(principal_id).run();
    const first = await send();
    await env.DB.prepare("update principals set status = 'ACTIVE' where principal_id = ?").bind(principal_id).run();
    const second = await send();
    expect([first.status, first.body.code, isReplay(first)]).toEqual([409, "invalid_status", false]);
    expect([second.status, second.body.code, isReplay(second)]).toEqual([409, "invalid_status", true]);
    expect(second.body).toEqual({ ...first.body, request_id: second.body.request_id });
    expect(second.body.request_id).not.toBe(first.body.request_id);
  });

  it.each([
    ["a fault of the schema", { country: "Germany" }, "validation_failed"],
    ["a fault that the service finds", { country: "KP" }, "validation_failed"],
  ])("after %s may correct the body under the same key", async (_name, fault, code) => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expect((await register(world, key, { ...body, ...fault })).body.code).toBe(code);
    const reply = await register(world, key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, false]);
  });

  it("after a fault with its own code may correct the body under the same key", async () => {
    const principal_id = await world.principal();
    const body = { ...agentBody("CONSUMER"), principal_id };
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const faulty = { ...body, profile: { display_name: "Buyer", catalog_url: "https://x.example" } };
    const refused = await world.call("POST", "/v1/agents", { body: faulty, headers });
    expect(refused.body.code).toBe("catalog_url_not_permitted");
    expect((await world.call("POST", "/v1/agents", { body, headers })).status).toBe(201);
  });

  it("after a 500 is executed", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expect((await register(failingCommit(world, "before"), key, body)).status).toBe(500);
    expect(await withRef(body["external_ref"])).toBe(0);
    const reply = await register(world, key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, false]);
  });

  it("after a 429 is executed", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const used = withConfig(world, { rate: { credentialQuota: 0, addressQuota: 0, windowSeconds: 60 } });
    expect((await register(used, key, body)).status).toBe(429);
    const reply = await register(world, key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, false]);
  });

  it("is a new call after 24 hours, to the millisecond", async () => {
    const start = Date.now();
    const at = (now: number) => withDeps(world, { ...world.deps, clock: { now: () => now } });
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(at(start), key, body), 201);
    expect(isReplay(await register(at(start + DAY_MS - 1), key, body))).toBe(true);
    const late = await register(at(start + DAY_MS), key, body);
    expect([late.status, late.body.code, isReplay(late)]).toEqual([409, "external_ref_exists", false]);
    // The answer of the late call is stored in place of the first.
    expect(isReplay(await register(at(start + DAY_MS + HOUR_MS), key, body))).toBe(true);
  });

  it("costs one trip to the database", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(world, key, body), 201);
    world.meter.reset();
    expect(isReplay(await register(world, key, body))).toBe(true);
    expect([world.meter.reading.trips, world.meter.reading.rowsWritten]).toEqual([1, 0]);
  });
});

describe("the key", () => {
  it.each([
    ["empty", ""],
    ["empty in quotes", '""'],
    ["256 characters", "k".repeat(256)],
    ["not ASCII", "schlüssel"],
    ["holding a tab", "a\tb"],
  ])("that is %s is 422 validation_failed, and nothing is registered", async (_name, key) => {
    const body = principalBody();
    const reply = await register(world, key, body);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors).toEqual([
      expect.objectContaining({ field: "Idempotency-Key", code: "invalid_format" }),
    ]);
    expect(await withRef(body["external_ref"])).toBe(0);
  });

  it("that is malformed is named together with the faults of the body", async () => {
    const { field_errors } = (await register(world, "", { ...principalBody(), country: "de" })).body;
    expect(field_errors.map((fault: { field: string }) => fault.field).sort()).toEqual(["Idempotency-Key", "country"]);
  });

  it.each(["k", "k".repeat(255), "order 4711 / attempt #1!"])("may be %j", async (key) => {
    const body = principalBody();
    expectStatus(await register(world, key, body), 201);
    expect(isReplay(await register(world, key, body))).toBe(true);
  });

  it("has no meaning for a call that creates nothing", async () => {
    const { did } = await world.consumer();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const patch = (status: string) => world.call("PATCH", `/v1/agents/${did}/status`, { body: { status }, headers });
    expect([(await patch("SUSPENDED")).status, (await patch("ACTIVE")).status]).toEqual([200, 200]);
  });

  it("of another platform is another key", async () => {
    const other = await createWorld();
    const body = principalBody();
    const key = crypto.randomUUID();
    const [mine, theirs] = [await register(world, key, body), await register(other, key, body)];
    expect([mine.status, theirs.status, isReplay(theirs)]).toEqual([201, 201, false]);
    expect(mine.body.principal_id).not.toBe(theirs.body.principal_id);
  });

  it("of the other environment is another key", async () => {
    const body = { ...agentBody("CONSUMER"), principal_id: world.tenantPrincipalId };
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const sandbox = await world.call("POST", "/v1/agents", { body, headers });
    const live = await world.call("POST", "/v1/agents", { body, headers, key: world.liveKey });
    expect([sandbox.status, live.status, isReplay(live)]).toEqual([201, 201, false]);
    expect([sandbox.body.live.environment, live.body.live.environment]).toEqual(["sandbox", "production"]);
  });
});
