// Answers that are the same for every caller are kept in a cache, so that repeated reads do not reach the database (HTTP-35). The cache is real;
// each world has its own.
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { openMeter } from "../../bench/meter.ts";
import { createApp, ROUTES } from "../../src/app.ts";
import { findClockOffset } from "../../src/db/clock.ts";
import { answer } from "../../src/http/answer.ts";
import { defineRoute } from "../../src/http/route.ts";
import { stopRealTime } from "../auth/support.ts";
import { stopped } from "../support/clock.ts";
import { send, withConfig, withDeps, withEmptyCache, withRoute } from "../support/variants.ts";
import { type Agent, createWorld, env, expectStatus, ISSUER, type Reply, type World } from "../support/world.ts";

stopRealTime();
let world: World;
let agent: Agent;
let numbers: { version: number; revision: number };
beforeAll(async () => {
  world = await createWorld();
  agent = await world.provider();
  numbers = expectStatus(await open(world, aid()), 200);
});

const LIST = "/.well-known/aeap-status-lists/1";
const aid = (query = "") => `/v1/agents/${agent.did}/aid${query}`;
const version = () => aid(`?version=${numbers.version}`);
const revision = () => aid(`?revision=${numbers.revision}`);
const open = (of: World, path: string, headers: Record<string, string> = {}): Promise<Reply> =>
  of.call("GET", path, { key: null, headers });

/** The answer, and the trips that it took. */
async function measure(of: World, path: string, headers: Record<string, string> = {}) {
  world.meter.reset();
  const reply = await open(of, path, headers);
  return { reply, trips: world.meter.reading.trips };
}

const KEPT: [string, () => string, string][] = [
  ["an earlier version of a document", version, "public, max-age=31536000, immutable"],
  ["the present revision of a document", revision, "public, max-age=31536000, immutable"],
  ["a status list", () => LIST, "public, max-age=\\d+, s-maxage=\\d+"],
];

describe.each(KEPT)("%s", (_name, path, caching) => {
  it("reads the database once; the second read gets the same answer without a trip", async () => {
    const fresh = await withEmptyCache(world);
    const [first, second] = [await measure(fresh, path()), await measure(fresh, path())];
    expect([first.reply.status, second.reply.status, second.trips]).toEqual([200, 200, 0]);
    expect(first.trips).toBeGreaterThan(0);
    expect(second.reply.text).toBe(first.reply.text);
    for (const name of ["content-type", "etag", "vary", "cache-control", "access-control-allow-origin"]) {
      expect(second.reply.headers.get(name)).toBe(first.reply.headers.get(name));
    }
    expect(first.reply.headers.get("cache-control")).toMatch(new RegExp(`^${caching}$`));
    expect([first.reply.headers.get("age"), second.reply.headers.get("age")]).toEqual([null, "0"]);
    vi.setSystemTime(Date.now() + 2_999);
    expect((await measure(fresh, path())).reply.headers.get("age")).toBe("2");
  });

  it("has its own request id and charge for each request", async () => {
    const fresh = stopped(await withEmptyCache(world));
    const from = { "CF-Connecting-IP": crypto.randomUUID() };
    const [first, second] = [await open(fresh, path(), from), await open(fresh, path(), from)];
    expect(second.headers.get("request-id")).not.toBe(first.headers.get("request-id"));
    const remaining = [first, second].map(({ headers }) => /r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
    expect(Number(remaining[1])).toBeLessThan(Number(remaining[0]));
    const small = withConfig(fresh, { rate: { credentialQuota: 1, addressQuota: 1, windowSeconds: 60 } });
    const other = { "CF-Connecting-IP": crypto.randomUUID() };
    await open(small, path(), other);
    expect((await open(small, path(), other)).status).toBe(429);
  });

  it("answers HEAD from the cache with the same headers and no body", async () => {
    const fresh = await withEmptyCache(world);
    const get = await open(fresh, path());
    world.meter.reset();
    const head = await send(fresh, path(), { method: "HEAD" });
    expect([head.response.status, head.body, world.meter.reading.trips]).toEqual([200, "", 0]);
    for (const name of ["content-type", "etag", "cache-control"]) {
      expect(head.response.headers.get(name)).toBe(get.headers.get(name));
    }
  });

  it.each([
    ["a management key", () => ({ "Service-Api-Key": world.key })],
    ["an operator's bearer", () => ({ Authorization: "Bearer x" })],
    ["a certificate", () => ({ "AEAP-Certificate": agent.certificate })],
    ["a cookie", () => ({ Cookie: "session=x" })],
  ])("is neither read from the cache nor kept for a request with %s", async (_credential, headers) => {
    const fresh = await withEmptyCache(world);
    expect((await measure(fresh, path(), headers())).trips).toBeGreaterThan(0);
    expect((await measure(fresh, path(), headers())).trips).toBeGreaterThan(0);
    expect((await measure(fresh, path())).trips).toBeGreaterThan(0);
  });

  it("is read from the database if the cache fails, or holds another value", async () => {
    const failing = () => Promise.reject(new Error("the cache is away"));
    const strange = async () => new Response('{"at":1,"answer":"nonsense"}');
    const unreadable = async () => new Response("<html>");
    for (const match of [failing, strange, unreadable]) {
      const sharedCache = Object.assign(Object.create(await caches.open("none")) as Cache, { match, put: failing });
      const { reply, trips } = await measure(withDeps(world, { ...world.deps, sharedCache }), path());
      expect(reply.status).toBe(200);
      expect(trips).toBeGreaterThan(0);
    }
  });
});

describe("a document by its number", () => {
  it("is 304 to a client that has it, also from the cache", async () => {
    const fresh = await withEmptyCache(world);
    const etag = (await open(fresh, version())).headers.get("etag") ?? "";
    const { reply, trips } = await measure(fresh, version(), { "If-None-Match": `"other", ${etag}` });
    expect([reply.status, reply.text, reply.headers.get("etag"), trips]).toEqual([304, "", etag, 0]);
    expect(reply.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect((await open(fresh, version(), { "If-None-Match": '"other"' })).status).toBe(200);
  });

  it("is kept in each of its forms, and one form is never answered for the other", async () => {
    const fresh = await withEmptyCache(world);
    const jwt = { Accept: "application/jwt" };
    const types = async () =>
      [await open(fresh, version()), await open(fresh, version(), jwt)].map(({ headers }) =>
        headers.get("content-type"),
      );
    expect(await types()).toEqual(["application/json", "application/jwt"]);
    expect(await types()).toEqual(["application/json", "application/jwt"]);
    // Other Accept headers for the same form.
    expect((await measure(fresh, version(), { Accept: "application/*;q=0.1, application/jwt;q=1.0" })).trips).toBe(0);
    expect((await measure(fresh, version(), { Accept: "text/html, */*;q=0.8" })).trips).toBe(0);
  });

  it("is one content, however its address is written and whatever Host is requested", async () => {
    const fresh = await withEmptyCache(world);
    await open(fresh, version());
    const encoded = `/v1/agents/${encodeURIComponent(agent.did)}/aid?version=0${numbers.version}`;
    expect((await measure(fresh, encoded)).trips).toBe(0);
    const context = createExecutionContext();
    world.meter.reset();
    const asked = await fresh.app.fetch(new Request(`https://evil.example${version()}`), env, context);
    await waitOnExecutionContext(context);
    expect([asked.status, world.meter.reading.trips]).toEqual([200, 0]);
    // The document of another issuer is a different one.
    expect((await measure(withConfig(fresh, { issuer: "https://other.example" }), version())).trips).toBe(1);
  });

  it("is not mixed up with another number, nor with another agent's document", async () => {
    const fresh = await withEmptyCache(world);
    await open(fresh, version());
    expect((await measure(fresh, aid("?version=1"))).trips).toBe(1);
    expect((await measure(fresh, revision())).trips).toBe(1);
    const other = await world.consumer();
    const theirs = await open(fresh, `/v1/agents/${other.did}/aid?version=2`);
    expect(expectStatus(theirs, 200).did).toBe(other.did);
  });

  it("is not cached as missing, because it may be made later", async () => {
    const { did } = await world.draft("CONSUMER");
    const path = `/v1/agents/${did}/aid?version=2`;
    expect((await open(world, path)).status).toBe(404);
    expectStatus(await world.call("POST", `/v1/agents/${did}/activate`), 200);
    expect((await open(world, path)).status).toBe(200);
  });

  it("lets a repeated check read only the status: one trip, to the primary", async () => {
    const check = async () => {
      const { aid_revision } = expectStatus(await open(world, `/v1/agents/${agent.did}/status`), 200);
      return expectStatus(await open(world, aid(`?revision=${aid_revision}`)), 200);
    };
    const first = await check();
    world.meter.reset();
    expect(await check()).toEqual(first);
    expect(world.meter.reading.trips).toBe(1);
  });
});

describe("a status list", () => {
  it("may be kept until its ttl ends, and by a shared cache until the next one is signed", async () => {
    const fresh = await withEmptyCache(world);
    await env.DB.prepare("update status_lists set signed_at = 0").run();
    const ages = async (ago: number) => {
      await env.DB.prepare("update status_lists set signed_at = signed_at - ?")
        .bind(ago * 1_000)
        .run();
      const reply = await open(await withEmptyCache(world), LIST);
      return /^public, max-age=(\d+), s-maxage=(\d+)$/
        .exec(reply.headers.get("cache-control") ?? "")
        ?.slice(1)
        .map(Number);
    };
    const { ttl } = decodeJwt(expectStatus(await open(fresh, LIST), 200));
    expect(ttl).toBe(300);
    expect(await ages(0)).toEqual([300, 60]);
    expect(await ages(40)).toEqual([260, 20]);
  });
});

describe("an answer that changes, or belongs to one caller", () => {
  it.each(["aid", "status", "certificate", "did.json", "did-web/did.json", "rating"])(
    "%s is read from the database each time",
    async (part) => {
      const path = `/v1/agents/${agent.did}/${part}`;
      expect([(await measure(world, path)).trips, (await measure(world, path)).trips]).toEqual([1, 1]);
      expect((await open(world, path)).headers.get("age")).toBeNull();
    },
  );

  it.each([
    ["public, max-age=60", 0],
    ["private, max-age=60", 1],
    ["no-store", 1],
  ])("with the header %s costs the second read %i trips", async (caching, trips) => {
    const probe = defineRoute({
      ...{ operationId: "probe", method: "get", path: "/v1/probe" },
      ...{ surfaces: ["public"], status: 200, response: { schema: z.unknown() }, errors: [] },
      shared: () => "json",
      handle: async (call) => {
        await call.read({ offset: findClockOffset(call.db, "plt_x") });
        return answer(200, { "Content-Type": "application/json", "Cache-Control": caching }, "{}");
      },
    });
    const probing = withRoute(await withEmptyCache(world), probe);
    await send(probing, "/v1/probe", {});
    world.meter.reset();
    const { response, body } = await send(probing, "/v1/probe", {});
    expect([response.status, body, world.meter.reading.trips]).toEqual([200, {}, trips]);
  });

  it("is not shared by operations that need a credential or that only some origins may read", () => {
    const shared = ROUTES.filter((route) => route.shared !== undefined);
    expect(shared.map(({ operationId }) => operationId)).toEqual(["getAgentAid", "getStatusList"]);
    for (const { surfaces, cors, method } of shared) {
      expect([surfaces, cors, method]).toEqual([["public"], true, "get"]);
    }
  });
});

describe("the service as it is deployed", () => {
  it("keeps a document in the data centre's own cache", async () => {
    const app = createApp();
    const counted = openMeter(env.DB, () => undefined);
    const bindings = { ...env, DB: counted.d1 };
    for (let i = 0; i < 2; i++) {
      const context = createExecutionContext();
      const { status } = await app.fetch(new Request(`${ISSUER}${version()}`), bindings, context);
      await waitOnExecutionContext(context);
      expect(status).toBe(200);
    }
    expect(counted.reading.trips).toBe(1);
    const address = `${ISSUER}/v1/agents/${encodeURIComponent(agent.did)}/aid?version=${numbers.version}&representation=json`;
    expect(await caches.default.match(address)).toBeDefined();
  });
});
