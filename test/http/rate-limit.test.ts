// RateLimit headers on every answer, and 429 with Retry-After when the quota is used up (HTTP-29, HTTP-30).
import { beforeAll, describe, expect, it } from "vitest";
import { generateManagementKey } from "../../src/accounts/keys.ts";
import { HOUR_MS, SECOND_MS } from "../../src/core/limits.ts";
import { moveClock, stopped } from "../support/clock.ts";
import { failingBatches, withConfig, withDatabase, withVars } from "../support/variants.ts";
import { BRANDS, createWorld, env, expectStatus, type Reply, type World } from "../support/world.ts";

const WINDOW_SECONDS = 60;
let world: ReturnType<typeof stopped>;
let small: World;
beforeAll(async () => {
  world = stopped(await createWorld());
  small = withSmallQuota(world);
});
const withSmallQuota = (of: World): World =>
  withConfig(of, { rate: { credentialQuota: 3, addressQuota: 3, windowSeconds: WINDOW_SECONDS } });
/** A separate world, whose clock stands still. */
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
  it.each(CALLS)("are on %s", async (_name, method, path, options) => {
    const reply = await world.call(method, path, { ...options, headers: address() });
    const { limit, policy } = stateOf(reply);
    expect(limit).toHaveLength(3);
    expect(policy).toBe(`"${limit[0]}";q=30000;w=${WINDOW_SECONDS}`);
    expect(Number(limit[2])).toBe(secondsLeft());
  });

  it("state the seconds until the window ends, rounded up, and start again in the next window", async () => {
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

  it("of an address covers any number of well-formed keys that have no owner", async () => {
    const headers = address();
    const madeUp = async () => {
      const { rawKey } = await generateManagementKey("sandbox", BRANDS);
      return small.call("GET", "/v1/platform", { key: rawKey, headers });
    };
    for (let i = 0; i < 3; i++) expect((await madeUp()).status).toBe(401);
    expectLimited(await madeUp());
  });

  it("of an agent is not used up by a caller that has only its certificate, which is public", async () => {
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
});

describe("the quota of an account", () => {
  const READ = ["GET", "/v1/platform"] as const;
  const expectLimited = (reply: Reply) => {
    expect([reply.status, reply.body.code]).toEqual([429, "rate_limited"]);
    expect(reply.headers.get("retry-after")).toBe(stateOf(reply).limit[2]);
    expect(stateOf(reply)).toMatchObject({ limit: ["credential", "0", expect.anything()], policy: POLICY });
  };
  const POLICY = `"credential";q=3;w=${WINDOW_SECONDS}`;
  const remaining = (reply: Reply) => Number(stateOf(reply).limit[1]);
  const bearer = (token: string) => ({ key: null, headers: { Authorization: `Bearer ${token}` } });
  const tripsOf = async (of: World, call: () => Promise<Reply>) => {
    of.meter.reset();
    expectLimited(await call());
    return of.meter.reading.trips;
  };

  /** With the whole quota, whatever was called before. */
  const inNextWindow = (of: World): World => {
    const later = stopped(of);
    later.advance(WINDOW_SECONDS * SECOND_MS);
    return withSmallQuota(later);
  };

  it("is one for all its keys and sessions, and another for the other environment", async () => {
    const of = stopped(await createWorld());
    const rotated = expectStatus(await of.call("POST", "/v1/platform/keys/rotate", { body: { grace_hours: 24 } }), 200);
    const [token, unseen] = [await of.session(), await of.session()];
    of.advance(WINDOW_SECONDS * SECOND_MS);
    const own = withSmallQuota(of);
    const replies = [
      await own.call(...READ),
      await own.call(...READ, { key: rotated.api_key.raw_key }),
      await own.call(...READ, bearer(token)),
    ];
    expect(replies.map((reply) => [reply.status, remaining(reply)])).toEqual([
      [200, 2],
      [200, 1],
      [200, 0],
    ]);
    // This isolate refuses credentials that it knows without a trip; it needs one trip to find the account of another credential.
    expect(await tripsOf(own, () => own.call(...READ))).toBe(0);
    expect(await tripsOf(own, () => own.call(...READ, { key: rotated.api_key.raw_key }))).toBe(0);
    expect(await tripsOf(own, () => own.call(...READ, bearer(token)))).toBe(0);
    expect(await tripsOf(own, () => own.call(...READ, bearer(unseen)))).toBe(1);
    expect(await tripsOf(own, () => own.call(...READ, bearer(unseen)))).toBe(0);
    expect(remaining(await own.call(...READ, { key: own.liveKey }))).toBe(2);
  });

  it("is not shared with its agents, each of which has its own", async () => {
    const fresh = await createWorld();
    const [one, other] = [await fresh.consumer(), await fresh.consumer()];
    const own = inNextWindow(fresh);
    for (let i = 0; i < 3; i++) expectStatus(await own.call(...READ), 200);
    for (const agent of [one, other]) {
      for (let i = 0; i < 3; i++) expectStatus(await own.as(agent, "GET", "/v1/tasks"), 200);
      expectLimited(await own.as(agent, "GET", "/v1/tasks"));
    }
    expectLimited(await own.call(...READ));
  });

  it("is not used up by a credential that has ended, which counts for its client's address", async () => {
    const of = stopped(await createWorld());
    expectStatus(await of.call("POST", "/v1/platform/keys/rotate", { body: {} }), 200);
    const ended = await of.session({ expiresAt: of.now() });
    const own = withSmallQuota(of);
    const headers = address();
    const calls = [
      () => own.call(...READ, { headers }),
      () => own.call(...READ, { key: null, headers: { ...headers, ...bearer(ended).headers } }),
      () => own.call(...READ, { headers }),
      () => own.call(...READ, { headers }),
    ];
    const seen: unknown[] = [];
    for (const call of calls) {
      const reply = await call();
      seen.push([reply.status, ...stateOf(reply).limit.slice(0, 2)]);
    }
    expect(seen).toEqual([
      [401, "address", "2"],
      [401, "address", "1"],
      [401, "address", "0"],
      [429, "address", "0"],
    ]);
    expect(remaining(await own.call(...READ, { key: own.liveKey }))).toBe(2);
  });

  it("counts the calls of a suspended account", async () => {
    const own = await fewCalls();
    await env.DB.prepare("update platforms set status = 'SUSPENDED' where platform_id = ?").bind(own.platformId).run();
    for (let i = 0; i < 3; i++) expect((await own.call(...READ)).body.code).toBe("account_suspended");
    expectLimited(await own.call(...READ));
  });

  it("is charged once for a call, also if the call is decided again or its form is read after its caller", async () => {
    const fresh = await createWorld();
    const { did } = await fresh.draft("CONSUMER");
    await moveClock(fresh, HOUR_MS);
    const own = inNextWindow(fresh);
    expect(remaining(await own.call("GET", `/v1/agents/${did}`))).toBe(2);
    const headers = { ...bearer(await fresh.session()).headers, "Content-Type": "multipart/form-data; boundary=x" };
    const upload = await own.call("POST", "/v1/platform/documents", { key: null, headers, rawBody: "nothing" });
    expect([upload.status, remaining(upload)]).toEqual([400, 1]);
  });

  it("ends a window that another isolate has used up, and only that window", async () => {
    const of = stopped(await createWorld());
    let success = false;
    const own = withVars(of, { RATE_CREDENTIAL: { limit: async () => ({ success }) } });
    const first = await own.call(...READ);
    expect([first.status, remaining(first)]).toEqual([429, 0]);
    success = true;
    own.meter.reset();
    expect([(await own.call(...READ)).status, own.meter.reading.trips]).toEqual([429, 0]);
    of.advance(WINDOW_SECONDS * SECOND_MS);
    expectStatus(await own.call(...READ), 200);
  });

  it("shows on an answer that fails in the database", async () => {
    const of = await createWorld();
    const failing = withDatabase(
      of,
      failingBatches(env.DB, () => "before"),
    );
    const reply = await failing.call(...READ);
    expect([reply.status, stateOf(reply).policy]).toEqual([500, `"credential";q=30000;w=${WINDOW_SECONDS}`]);
  });
});
