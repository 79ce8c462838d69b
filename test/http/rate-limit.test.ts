// RateLimit headers on every answer, 429 with Retry-After when the quota is used up (HTTP-29, HTTP-30).
import { beforeAll, describe, expect, it } from "vitest";
import { generateManagementKey } from "../../src/accounts/management-key.ts";
import { SECOND_MS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { withConfig } from "../support/variants.ts";
import { BRANDS, createWorld, type Reply, type World } from "../support/world.ts";

const WINDOW_SECONDS = 60;
let world: ReturnType<typeof stopped>;
let small: World;
beforeAll(async () => {
  world = stopped(await createWorld());
  small = withSmallQuota(world);
});
const withSmallQuota = (of: World): World =>
  withConfig(of, { rate: { credentialQuota: 3, addressQuota: 3, windowSeconds: WINDOW_SECONDS } });
/** A world of its own, whose clock stands still. */
const fewCalls = async () => withSmallQuota(stopped(await createWorld()));

let addresses = 0;
/** The address of a client that has not called before. */
const address = () => ({ "CF-Connecting-IP": `203.0.${Math.floor(++addresses / 256)}.${addresses % 256}` });
const stateOf = ({ headers }: Reply) => ({
  limit: /^"(\w+)";r=(\d+);t=(\d+)$/.exec(headers.get("ratelimit") ?? "")?.slice(1) ?? [],
  policy: headers.get("ratelimit-policy"),
});

const secondsLeft = () => WINDOW_SECONDS - Math.floor((world.now() / SECOND_MS) % WINDOW_SECONDS);

const UNREADABLE = { key: null, rawBody: "{" } as const;
const CALLS: [string, string, string, Parameters<World["call"]>[2]][] = [
  ["a good answer", "GET", "/v1/platform", {}],
  ["a creation that is refused", "POST", "/v1/principals", { body: {} }],
  ["an object that is not there", "GET", "/v1/principals/prn_x", {}],
  ["a call without a credential", "GET", "/v1/platform", { key: null }],
  ["a malformed credential", "GET", "/v1/platform", { key: "nonsense" }],
  ["a public reading", "GET", "/.well-known/aeap", { key: null }],
  ["a public object that is not there", "GET", "/v1/agents/did:aeap:x/status", { key: null }],
  ["an unknown path", "GET", "/v1/nothing", { key: null }],
  ["a wrong method", "DELETE", "/v1/platform", { key: null }],
  ["a body that cannot be read", "POST", "/v1/principals", UNREADABLE],
  ["a body that cannot be read, on a public route", "POST", "/v1/verify/aid", UNREADABLE],
  ["the OpenAPI document", "GET", "/openapi.json", { key: null }],
  ["the health check", "GET", "/healthz", { key: null }],
  ["the reference", "GET", "/docs", { key: null }],
  ["a preflight", "OPTIONS", "/openapi.json", { key: null }],
];

describe("the RateLimit headers", () => {
  it.each(CALLS)("stand on %s", async (_name, method, path, options) => {
    const reply = await world.call(method, path, { ...options, headers: address() });
    const { limit, policy } = stateOf(reply);
    expect(limit).toHaveLength(3);
    expect(policy).toBe(`"${limit[0]}";q=30000;w=${WINDOW_SECONDS}`);
    expect(Number(limit[2])).toBe(secondsLeft());
  });

  it("tell the seconds until the window ends, rounded up, and count from the beginning in the next", async () => {
    const from = address();
    const read = async () => {
      const reply = await small.call("GET", "/.well-known/aeap", { key: null, headers: from });
      return [reply.status, ...stateOf(reply).limit.slice(1)];
    };
    world.advance(WINDOW_SECONDS * SECOND_MS - (world.now() % (WINDOW_SECONDS * SECOND_MS)));
    expect(await read()).toEqual([200, "2", "60"]);
    world.advance(1);
    expect(await read()).toEqual([200, "1", "60"]);
    world.advance(WINDOW_SECONDS * SECOND_MS - 2);
    expect([await read(), await read()]).toEqual([
      [200, "0", "1"],
      [429, "0", "1"],
    ]);
    world.advance(1);
    expect(await read()).toEqual([200, "2", "60"]);
  });

  it("count down", async () => {
    const from = address();
    const remaining: number[] = [];
    for (let i = 0; i < 3; i++) {
      const reply = await small.call("GET", "/.well-known/aeap", { key: null, headers: from });
      remaining.push(Number(stateOf(reply).limit[1]));
    }
    expect(remaining).toEqual([2, 1, 0]);
  });
});

describe("the quota", () => {
  const exhaust = async (method: string, path: string, options: Parameters<World["call"]>[2]) => {
    for (let i = 0; i < 3; i++) expect((await small.call(method, path, options)).status).not.toBe(429);
    return small.call(method, path, options);
  };

  const expectLimited = (reply: Reply) => {
    expect(reply.status).toBe(429);
    expect(reply.body).toMatchObject({ code: "rate_limited", status: 429, error: "rate_limited" });
    expect(reply.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(stateOf(reply).limit[1]).toBe("0");
    expect(reply.headers.get("retry-after")).toBe(stateOf(reply).limit[2]);
    expect(reply.headers.get("cache-control")).toBe("no-store");
  };

  it("of a key is its own: another key of the same platform still passes", async () => {
    const own = await fewCalls();
    for (let i = 0; i < 3; i++) expect((await own.call("GET", "/v1/platform")).status).toBe(200);
    expectLimited(await own.call("GET", "/v1/platform"));
    expect((await own.call("GET", "/v1/platform", { key: own.liveKey })).status).toBe(200);
  });

  it("of an address covers the public routes", async () => {
    expectLimited(await exhaust("GET", "/v1/verify/challenge", { key: null, headers: address() }));
  });

  it.each([
    ["calls without a credential", "GET", "/v1/platform", { key: null }],
    ["calls with a malformed one", "GET", "/v1/platform", { key: "service_sandbox_x" }],
    ["unknown paths", "GET", "/v1/nothing", { key: null }],
    ["bodies that cannot be read", "POST", "/v1/principals", UNREADABLE],
    ["the OpenAPI document", "GET", "/openapi.json", { key: null }],
  ] as const)("of an address covers %s", async (_name, method, path, options) => {
    expectLimited(await exhaust(method, path, { ...options, headers: address() }));
  });

  it("of an address covers well-formed keys that nobody owns, however many", async () => {
    const headers = address();
    const madeUp = async () => {
      const { rawKey } = await generateManagementKey("sandbox", BRANDS);
      return small.call("GET", "/v1/platform", { key: rawKey, headers });
    };
    for (let i = 0; i < 3; i++) expect((await madeUp()).status).toBe(401);
    expectLimited(await madeUp());
  });

  it("of an agent is used up by nobody who has only its certificate, which is public", async () => {
    const fresh = await createWorld();
    const agent = await fresh.consumer();
    const own = withSmallQuota(stopped(fresh));
    const path = "/v1/tasks/tsk_x";
    const stranger = await fresh.consumer();
    const stolen = async (method: string, to: string, body?: unknown) => {
      const forged = await fresh.prove(stranger, method, to);
      const headers = { ...forged, "AEAP-Certificate": agent.certificate, ...address() };
      return own.call(method, to, { key: null, headers, ...(body !== undefined && { body }) });
    };
    const claim = { intent_id: "pin_x", payment_tx: `0x${"1".repeat(64)}` };
    for (let i = 0; i < 4; i++) {
      expect((await stolen("GET", path)).body.code).toBe("aeap_verification_failed");
      expect((await stolen("POST", "/v1/facilitate", claim)).status).not.toBe(429);
    }
    expect((await own.as(agent, "GET", path)).status).toBe(404);
    for (let i = 0; i < 2; i++) await own.as(agent, "GET", path);
    expectLimited(await own.as(agent, "GET", path));
  });

  it("is refused without a trip to the database", async () => {
    const own = await fewCalls();
    for (let i = 0; i < 3; i++) await own.call("GET", "/v1/platform");
    own.meter.reset();
    expectLimited(await own.call("GET", "/v1/platform"));
    expect(own.meter.reading.trips).toBe(0);
  });
});
