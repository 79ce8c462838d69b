// Contract section 9: one effect per Idempotency-Key, whatever fails on the way; and nothing secret at rest or in a log.
import { evictDurableObject, listDurableObjectIds, runInDurableObject } from "cloudflare:test";
import { exportJWK, importPKCS8 } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { generateManagementKey } from "../../src/accounts/management-key.ts";
import { DAY_MS, HOUR_MS } from "../../src/core/limits.ts";
import { managementKeys } from "../../src/db/tables/accounts.ts";
import type { IdempotencyObject } from "../../src/objects/idempotency-object.ts";
import {
  dumpDatabase,
  dumpObjects,
  failingBatches,
  type Moment,
  withConfig,
  withDatabase,
  withDeps,
} from "../support/variants.ts";
import {
  agentBody,
  BRANDS,
  createWorld,
  env,
  expectStatus,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

type Options = { of?: World; key?: string; headers?: Record<string, string>; rawBody?: string };
const register = (idempotencyKey: string, body: unknown, { of = world, key = of.key, rawBody }: Options = {}) =>
  of.call("POST", "/v1/principals", {
    key,
    headers: { "Idempotency-Key": idempotencyKey },
    ...(rawBody === undefined ? { body } : { rawBody }),
  });
const activate = (did: string, idempotencyKey: string, of: World = world, key = of.key) =>
  of.call("POST", `/v1/agents/${did}/activate`, { key, headers: { "Idempotency-Key": idempotencyKey } });

const isReplay = (reply: Reply) => reply.headers.get("idempotent-replayed") === "true";
const withRef = async (externalRef: unknown): Promise<number> => {
  const { results } = await env.DB.prepare("select principal_id from principals where external_ref = ?")
    .bind(externalRef)
    .all();
  return results.length;
};

/** The database fails once, at the second batch: that is the commit of a call that has read. */
const failingCommit = (moment: "before" | "after") =>
  withDatabase(
    world,
    failingBatches(env.DB, (batch) => (batch === 2 ? moment : "never")),
  );

describe("a retry", () => {
  it("is answered with the original answer, marked as replayed, and has no effect", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const first = await register(key, body);
    const second = await register(key, body);
    expect([first.status, isReplay(first)]).toEqual([201, false]);
    expect([second.status, isReplay(second)]).toEqual([201, true]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("content-type")).toBe("application/json");
    expect(second.headers.get("request-id")).not.toBe(first.headers.get("request-id"));
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("a hundred at once make exactly one principal", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const replies = await Promise.all(Array.from({ length: 100 }, () => register(key, body)));
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
    expect(isReplay(await register(key, body))).toBe(true);
  });

  it("with another body is 422 idempotency_key_reused, and the first effect stands alone", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(key, body), 201);
    const other = principalBody();
    const reply = await register(key, other);
    expect([reply.status, reply.body.code]).toEqual([422, "idempotency_key_reused"]);
    expect(await withRef(other["external_ref"])).toBe(0);
  });

  it("with the members in another order, other spacing and other escapes has the same body", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const first = expectStatus(await register(key, body), 201);
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(body).reverse()), null, 2).replaceAll(
      "Acme",
      "\\u0041cme",
    );
    expect(reordered).not.toBe(JSON.stringify(body));
    const reply = await register(key, null, { rawBody: reordered });
    expect([reply.status, isReplay(reply), reply.body]).toEqual([201, true, first]);
  });

  it("with the key in double quotes has the same key", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(`"${key}"`, body), 201);
    expect(isReplay(await register(key, body))).toBe(true);
  });

  it("of another path or another method is another call", async () => {
    const key = crypto.randomUUID();
    const [a, b] = [await world.draft("CONSUMER"), await world.draft("CONSUMER")];
    const [first, second] = [await activate(a.did, key), await activate(b.did, key)];
    expect([first.status, second.status, isReplay(second)]).toEqual([200, 200, false]);
    expect(first.body.private_key).not.toBe(second.body.private_key);
  });

  it("gets the refusal of the first call, though it would pass by now", async () => {
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
  ])("after %s may put the body right under the same key", async (_name, fault, code) => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expect((await register(key, { ...body, ...fault })).body.code).toBe(code);
    const reply = await register(key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, false]);
  });

  it("after a fault with a code of its own may put the body right under the same key", async () => {
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
    expect((await register(key, body, { of: failingCommit("before") })).status).toBe(500);
    expect(await withRef(body["external_ref"])).toBe(0);
    const reply = await register(key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, false]);
  });

  it("after a 429 is executed", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const used = withConfig(world, { rate: { credentialQuota: 0, addressQuota: 0, windowSeconds: 60 } });
    expect((await register(key, body, { of: used })).status).toBe(429);
    const reply = await register(key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, false]);
  });

  it("is a new call when 24 hours have passed, to the millisecond", async () => {
    const start = Date.now();
    const at = (now: number) => withDeps(world, { ...world.deps, clock: { now: () => now } });
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(key, body, { of: at(start) }), 201);
    expect(isReplay(await register(key, body, { of: at(start + DAY_MS - 1) }))).toBe(true);
    const late = await register(key, body, { of: at(start + DAY_MS) });
    expect([late.status, late.body.code, isReplay(late)]).toEqual([409, "external_ref_exists", false]);
    // What the late call was answered is kept in its place.
    expect(isReplay(await register(key, body, { of: at(start + DAY_MS + HOUR_MS) }))).toBe(true);
  });

  it("costs one trip to the database", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expectStatus(await register(key, body), 201);
    world.meter.reset();
    expect(isReplay(await register(key, body))).toBe(true);
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
    const reply = await register(key, body);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors).toEqual([
      expect.objectContaining({ field: "Idempotency-Key", code: "invalid_format" }),
    ]);
    expect(await withRef(body["external_ref"])).toBe(0);
  });

  it("that is malformed is named beside the faults of the body", async () => {
    const { field_errors } = (await register("", { ...principalBody(), country: "de" })).body;
    expect(field_errors.map((fault: { field: string }) => fault.field).sort()).toEqual(["Idempotency-Key", "country"]);
  });

  it.each(["k", "k".repeat(255), "order 4711 / attempt #1!"])("may be %j", async (key) => {
    const body = principalBody();
    expectStatus(await register(key, body), 201);
    expect(isReplay(await register(key, body))).toBe(true);
  });

  it("means nothing to a call that creates nothing", async () => {
    const { did } = await world.consumer();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const patch = (status: string) => world.call("PATCH", `/v1/agents/${did}/status`, { body: { status }, headers });
    expect([(await patch("SUSPENDED")).status, (await patch("ACTIVE")).status]).toEqual([200, 200]);
  });

  it("of another platform is another key", async () => {
    const other = await createWorld();
    const body = principalBody();
    const key = crypto.randomUUID();
    const [mine, theirs] = [await register(key, body), await register(key, body, { of: other })];
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

describe("a crash", () => {
  it("between the effect and the answer: the retry gets the original answer and there is one effect", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    expect((await register(key, body, { of: failingCommit("after") })).status).toBe(500);
    expect(await withRef(body["external_ref"])).toBe(1);
    const reply = await register(key, body);
    expect([reply.status, isReplay(reply)]).toEqual([201, true]);
    expect((await world.call("GET", `/v1/principals/${reply.body.principal_id}`)).body).toEqual(reply.body);
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("after an activation: the retry gets the private key of the certificate that was issued", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    expect((await activate(did, key, failingCommit("after"))).status).toBe(500);
    const reply = await activate(did, key);
    expect([reply.status, isReplay(reply)]).toEqual([200, true]);
    const { x, y } = await exportJWK(await importPKCS8(reply.body.private_key, "ES256", { extractable: true }));
    const aid = expectStatus(await world.call("GET", `/v1/agents/${did}/aid`, { key: null }), 200);
    expect(aid.identity.public_key_jwk).toMatchObject({ x, y });
    expect(aid.identity.certificate).toBe(reply.body.certificate);
  });

  it("before the commit: the retry executes", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    expect((await activate(did, key, failingCommit("before"))).status).toBe(500);
    expect((await world.call("GET", `/v1/agents/${did}`)).body.status).toBe("DRAFT");
    const reply = await activate(did, key);
    expect([reply.status, isReplay(reply), reply.body.status]).toEqual([200, false, "ACTIVE"]);
  });
});

type Seen = { inFlight: Map<string, { token: string; bodyHash: string; until: number }> };

/** The objects that have a key in flight. */
async function inFlight(): Promise<DurableObjectStub<IdempotencyObject>[]> {
  const stubs = (await listDurableObjectIds(env.IDEMPOTENCY)).map((id) => env.IDEMPOTENCY.get(id));
  const busy = await Promise.all(
    stubs.map((stub) => runInDurableObject(stub, (instance) => (instance as unknown as Seen).inFlight.size > 0)),
  );
  return stubs.filter((_, i) => busy[i]);
}

/** A registration that has taken its key's turn and waits in its commit until it is let go. */
async function hang(key: string, body: unknown) {
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
  const reply = register(key, body, { of: withDatabase(world, d1) });
  await reached;
  return { reply, release };
}

describe("a key in flight", () => {
  it("answers 409 with Retry-After, and 422 to another body", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await hang(key, body);
    const again = await register(key, body);
    expect([again.status, again.body.code, again.headers.get("retry-after")]).toEqual([
      409,
      "idempotency_key_processing",
      "1",
    ]);
    const other = await register(key, principalBody());
    expect([other.status, other.body.code]).toEqual([422, "idempotency_key_reused"]);
    release();
    const first = expectStatus(await reply, 201);
    const late = await register(key, body);
    expect([late.status, isReplay(late), late.body]).toEqual([201, true, first]);
  });

  it("is freed 30 seconds after its request died, and a request that was only slow still has one effect", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await hang(key, body);
    expect((await register(key, body)).status).toBe(409);
    const [stub, ...others] = await inFlight();
    if (!stub) throw new Error("no key is in flight");
    expect(others).toEqual([]);
    const left = await runInDurableObject(stub, (instance) => {
      const [held, ...more] = (instance as unknown as Seen).inFlight.values();
      if (!held || more.length > 0) throw new Error("not one key is in flight");
      const until = held.until;
      held.until = Date.now();
      return until - Date.now();
    });
    expect(left).toBeGreaterThan(20_000);
    expect(left).toBeLessThanOrEqual(30_000);
    const next = await register(key, body);
    expect([next.status, isReplay(next)]).toEqual([201, false]);
    release();
    const slow = await reply;
    expect([slow.status, isReplay(slow), slow.body]).toEqual([201, true, next.body]);
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("holds up no other key of the same credential", async () => {
    const { reply, release } = await hang(crypto.randomUUID(), principalBody());
    expect((await register(crypto.randomUUID(), principalBody())).status).toBe(201);
    expect(await inFlight()).toHaveLength(1);
    release();
    expect((await reply).status).toBe(201);
    await vi.waitFor(async () => expect(await inFlight()).toEqual([]));
  });

  it("has one effect also when the object that orders it is evicted", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await hang(key, body);
    const [stub] = await inFlight();
    if (!stub) throw new Error("no key is in flight");
    await evictDurableObject(stub);
    const next = await register(key, body);
    release();
    const slow = await reply;
    expect([next.status, slow.status, slow.body.principal_id]).toEqual([201, 201, next.body.principal_id]);
    expect(await withRef(body["external_ref"])).toBe(1);
  });

  it("of a caller that is not known is not told from a free one", async () => {
    const body = principalBody();
    const key = crypto.randomUUID();
    const { reply, release } = await hang(key, body);
    const stranger = await generateManagementKey("sandbox", BRANDS);
    expect((await register(key, body, { key: stranger.rawKey })).body.code).toBe("invalid_credentials");
    release();
    await reply;
  });
});

describe("an activation", () => {
  it("is the same request with the DID raw and with %3A: the key is not lost to another client's encoding", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    const first = expectStatus(await activate(did, key), 200);
    const second = await activate(did.replaceAll(":", "%3A"), key);
    expect([isReplay(second), second.body]).toEqual([true, first]);
  });

  it("asked for twenty times at once with one key has one private key", async () => {
    const { did } = await world.draft("PROVIDER");
    const key = crypto.randomUUID();
    const replies = await Promise.all(Array.from({ length: 20 }, () => activate(did, key)));
    const good = replies.filter(({ status }) => status === 200);
    const rest = replies.filter(({ status }) => status !== 200);
    expect(good.length).toBeGreaterThan(0);
    expect(rest.filter(({ body }) => body.code !== "idempotency_key_processing")).toEqual([]);
    expect(new Set(good.map(({ body }) => body.private_key)).size).toBe(1);
    expect((await activate(did, key)).body.private_key).toBe(good[0]?.body.private_key);
  });

  it("is not opened to another credential of the platform", async () => {
    const { did } = await world.draft("CONSUMER");
    const key = crypto.randomUUID();
    expectStatus(await activate(did, key), 200);
    const second = await generateManagementKey("sandbox", BRANDS);
    const now = Date.now();
    const row = { keyHash: second.keyHash, keyId: `key_${now}`, keyPrefix: second.keyPrefix, createdAt: now };
    await world.deps.db.insert(managementKeys).values({ ...row, platformId: world.platformId, environment: "sandbox" });
    const reply = await activate(did, key, world, second.rawKey);
    expect([reply.status, reply.body.code]).toEqual([422, "idempotency_key_reused"]);
    expect(reply.text).not.toContain("PRIVATE KEY");
  });
});

describe("nothing secret", () => {
  const methods = ["log", "info", "warn", "error", "debug", "trace"] as const;
  const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => undefined));
  afterEach(() => {
    for (const spy of spies) spy.mockClear();
  });
  const printed = () => spies.flatMap((spy) => spy.mock.calls.map((call) => call.map(String).join(" "))).join("\n");

  /** Every form in which the secrets of a call could stand somewhere. */
  async function secretsOf(pem: string, idempotencyKey: string): Promise<string[]> {
    const lines = pem.split("\n").filter((line) => line !== "" && !line.startsWith("-----"));
    const { d = "?" } = await exportJWK(await importPKCS8(pem, "ES256", { extractable: true }));
    const hex = Array.from(atob(d.replaceAll("-", "+").replaceAll("_", "/")), (char) =>
      char.charCodeAt(0).toString(16).padStart(2, "0"),
    ).join("");
    return ["PRIVATE KEY", ...lines, lines.join(""), d, hex, idempotencyKey, world.key, world.key.slice(-30)];
  }

  it("is at rest after an activation: in no column of no table, in no Durable Object", async () => {
    const { did } = await world.draft("CONSUMER");
    const idempotencyKey = crypto.randomUUID();
    const { private_key: pem } = expectStatus(await activate(did, idempotencyKey), 200);
    const tables = await dumpDatabase();
    const objects = await Promise.all(
      [env.IDEMPOTENCY, env.AGENTS, env.REPLAY, env.CHAIN_SIGNER].map((namespace) => dumpObjects(namespace as never)),
    );
    // The dump sees what it should: the agent, its certificate and the sealed answer.
    expect(tables["agents"]?.filter((row) => row.includes(did))).toHaveLength(1);
    expect(tables["certificates"]?.filter((row) => row.includes(did))).toHaveLength(1);
    expect(tables["idempotency_outcomes"]?.some((row) => row.includes('"sealed":1'))).toBe(true);
    expect(objects.flat().length).toBeGreaterThan(1);
    const everything = JSON.stringify([tables, objects]);
    for (const secret of await secretsOf(pem, idempotencyKey)) expect(everything.includes(secret)).toBe(false);
  });

  it("is printed by an activation, by calls that fail and by a crash in the middle", async () => {
    const { did } = await world.draft("CONSUMER");
    const idempotencyKey = crypto.randomUUID();
    const broken = failingCommit("after");
    expect((await activate(did, idempotencyKey, broken)).status).toBe(500);
    const { private_key: pem } = expectStatus(await activate(did, idempotencyKey), 200);
    expect((await activate(did, crypto.randomUUID())).status).toBe(409);
    expect((await world.call("GET", "/v1/platform", { key: `${world.key.slice(0, -1)}!` })).status).toBe(401);
    const unknown = await generateManagementKey("sandbox", BRANDS);
    expect((await world.call("GET", "/v1/platform", { key: unknown.rawKey })).status).toBe(401);
    const rawBody = JSON.stringify({ legal_name: "secret-legal-name" }).slice(0, -1);
    expect((await world.call("POST", "/v1/principals", { rawBody })).status).toBe(400);
    const named = principalBody({ legal_name: "secret-legal-name" });
    expect((await failingCommit("before").call("POST", "/v1/principals", { body: named })).status).toBe(500);
    const agent = await world.consumer();
    const proof = await world.prove(agent, "GET", "/v1/payment-intents/x");
    await world.call("GET", "/v1/payment-intents/x", { key: null, headers: { ...proof, "AEAP-Timestamp": "1" } });

    const text = printed();
    // The crash and the refusals were logged.
    expect(text).toContain('"event":"failed"');
    expect(text).toContain('"event":"refused"');
    const secrets = [
      ...(await secretsOf(pem, idempotencyKey)),
      unknown.rawKey,
      "secret-legal-name",
      proof["AEAP-Proof"] ?? "?",
      agent.certificate,
    ];
    for (const secret of secrets) expect(text.includes(secret)).toBe(false);
  });
});
