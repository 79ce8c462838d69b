// One effect per Idempotency-Key after a crash, and while the first request is still running (IDM-3, IDM-5).
import { evictDurableObject, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { exportJWK, importPKCS8 } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import type { IdempotencyObject } from "../../src/objects/durable-objects.ts";
import { failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import { BRANDS, createWorld, env, expectStatus, principalBody, type World } from "../support/world.ts";
import { activate, failingCommit, isReplay, register, withRef } from "./support.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("a crash", () => {
  it("between the effect and the answer gives the retry the original answer, and there is one effect", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expect((await register(failingCommit(world, "after"), key, body)).status).toBe(500);
    expect(await withRef(body["external_ref"])).toBe(1);
    const reply = await register(world, key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, true]);
    expect((await world.call("GET", `/v1/principals/${reply.body.principal_id}`)).body).toEqual(reply.body);
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("after an activation gives the retry the private key of the issued certificate", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    expect((await activate(failingCommit(world, "after"), did, key)).status).toBe(500);
    const reply = await activate(world, did, key);
    expect([reply.status, isReplay(reply)]).toEqual([200, true]);
    const { x, y } = await exportJWK(await importPKCS8(reply.body.private_key, "ES256", { extractable: true }));
    const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    expect(aid.identity.public_key_jwk).toMatchObject({ x, y });
    expect(aid.identity.certificate).toBe(reply.body.certificate);
  });

  it("before the commit makes the retry execute", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    expect((await activate(failingCommit(world, "before"), did, key)).status).toBe(500);
    expect((await world.call("GET", `/v1/agents/${did}`)).body.status).toBe("DRAFT");
    const reply = await activate(world, did, key);
    expect([reply.status, isReplay(reply), reply.body.status]).toEqual([200, false, "ACTIVE"]);
  });
});

type Seen = { inFlight: Map<string, unknown> };

/** The objects that have a key in flight. */
async function inFlight(): Promise<DurableObjectStub<IdempotencyObject>[]> {
  const stubs = (await listDurableObjectIds(env.IDEMPOTENCY)).map((id) => env.IDEMPOTENCY.get(id));
  const busy = await Promise.all(
    stubs.map((stub) => runInDurableObject(stub, (instance) => (instance as unknown as Seen).inFlight.size > 0)),
  );
  return stubs.filter((_, i) => busy[i]);
}

/** Starts a registration that holds its Idempotency-Key and waits in its commit until `release` is called. */
async function startAndHold(key: string, body: unknown) {
  let release: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  let waiting: () => void = () => undefined;
  const reached = new Promise<void>((resolve) => {
    waiting = resolve;
  });
  const d1 = failingBatches(env.DB, async (batch): Promise<Moment> => {
    if (batch === 2) {
      waiting();
      await gate;
    }
    return "never";
  });
  const reply = register(withDatabase(world, d1), key, body);
  await reached;
  return { reply, release };
}

describe("a key in flight", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("answers 409 with Retry-After, and 422 to another body", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await startAndHold(key, body);
    const again = await register(world, key, body);
    expect([again.status, again.body.code, again.headers.get("retry-after")]).toEqual([
      409,
      "idempotency_key_processing",
      "1",
    ]);
    const other = await register(world, key, principalBody());
    expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
    release();
    const first = expectStatus(await reply, 201);
    const late = await register(world, key, body);
    expect([late.status, isReplay(late), late.body]).toEqual([201, true, first]);
  });

  it("is freed 30 seconds after its request died, and a request that was only slow still has one effect", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await startAndHold(key, body);
    expect((await register(world, key, body)).status).toBe(409);
    vi.setSystemTime(Date.now() + 29_999);
    expect((await register(world, key, body)).status).toBe(409);
    vi.setSystemTime(Date.now() + 1);
    const next = await register(world, key, body);
    expect([next.status, isReplay(next)]).toEqual([201, false]);
    release();
    const slow = await reply;
    expect([slow.status, isReplay(slow), slow.body]).toEqual([201, true, next.body]);
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("blocks no other key of the same credential", async () => {
    const { reply, release } = await startAndHold(crypto.randomUUID(), principalBody());
    expect((await register(world, crypto.randomUUID(), principalBody())).status).toBe(201);
    expect(await inFlight()).toHaveLength(1);
    release();
    expect((await reply).status).toBe(201);
    expect(await inFlight()).toEqual([]);
  });

  it("has one effect also when the object that orders it is evicted", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await startAndHold(key, body);
    const [stub] = await inFlight();
    if (!stub) throw new Error("no key is in flight");
    await evictDurableObject(stub);
    const next = await register(world, key, body);
    release();
    const slow = await reply;
    expect([next.status, slow.status, slow.body.principal_id]).toEqual([201, 201, next.body.principal_id]);
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("looks free to an unknown caller", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await startAndHold(key, body);
    const stranger = await generateManagementKey("sandbox", BRANDS);
    expect((await register(world, key, body, { key: stranger.rawKey })).body.code).toBe("invalid_credentials");
    release();
    await reply;
  });
});
