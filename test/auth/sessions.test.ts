// Sessions of people (CRED-13, CRED-14, CRED-21): bearer or cookie, an environment by header, two ends, and the routes of an account.
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS, HOUR_MS, MINUTE_MS, SESSION_DAYS, SESSION_IDLE_HOURS } from "../../src/core/limits.ts";
import { bearer, logIn, signUp } from "../accounts/support.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, ISSUER, principalBody, type World } from "../support/world.ts";
import type { Headers } from "./support.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld();
  token = await world.session();
});

const as = (headers: Headers, method = "GET", path = "/v1/platform", body?: unknown) =>
  world.call(method, path, { key: null, headers, ...(body !== undefined && { body }) });
const cookie = (value: string, origin?: string): Headers => ({
  Cookie: `theme=dark; __Host-session=${value}; x=1`,
  ...(origin !== undefined && { Origin: origin }),
});

/** A session that has just begun, in a world whose clock stands still. */
async function begun() {
  const later = stopped(await createWorld());
  const headers = bearer(await later.session());
  return { later, status: async () => (await later.call("GET", "/v1/platform", { key: null, headers })).status };
}

describe("a session", () => {
  it("may do the same as a management key, in the sandbox by default", async () => {
    expect(expectStatus(await as(bearer(token)), 200)).toMatchObject({
      platform_id: world.platformId,
      environment: "sandbox",
    });
    const registered = expectStatus(await as(bearer(token), "POST", "/v1/principals", principalBody()), 201);
    const path = `/v1/principals/${registered.principal_id}`;
    expect((await world.call("GET", path)).status).toBe(200);
    const entries = await env.DB.prepare("select actor_type, actor_id from activity_entries where subject_id = ?")
      .bind(registered.principal_id)
      .all();
    expect(entries.results).toEqual([{ actor_type: "dashboard_admin", actor_id: expect.stringMatching(/@/) }]);
  });

  it("names its environment, and is refused in production until the account is promoted", async () => {
    const inProduction = { ...bearer(token), "Service-Environment": "production" };
    const promoted = async (at: number | null) =>
      env.DB.prepare("update platforms set promoted_at = ? where platform_id = ?").bind(at, world.platformId).run();
    await promoted(null);
    const locked = await as(inProduction, "GET", "/v1/agents");
    expect([locked.status, locked.body.code]).toEqual([409, "production_locked"]);
    // Production also locks the account's own routes.
    for (const path of ["/v1/platform", "/v1/platform/keys", "/v1/platform/activity", "/v1/platform/documents"]) {
      expect([path, (await as(inProduction, "GET", path)).body.code]).toEqual([path, "production_locked"]);
    }
    await promoted(1);
    const reply = await as(inProduction);
    expect(expectStatus(reply, 200).environment).toBe("production");
  });

  it.each(["Production", "live", ""])("is refused with an unknown Service-Environment: %j", async (named) => {
    const reply = await as({ ...bearer(token), "Service-Environment": named });
    expect([reply.status, reply.body.field_errors]).toEqual([
      422,
      [expect.objectContaining({ field: "Service-Environment", code: "invalid_value" })],
    ]);
  });

  it("gives way to a management key in the same request", async () => {
    const reply = await as({ ...bearer(token), "Service-Api-Key": world.liveKey });
    expect(expectStatus(reply, 200).environment).toBe("production");
  });

  it("ends 12 hours after its last use, to the millisecond, and records its use at most every ten minutes", async () => {
    const { later, status } = await begun();
    const usedAt = async () =>
      (
        await env.DB.prepare("select used_at as at from sessions where platform_id = ?")
          .bind(later.platformId)
          .first<{ at: number }>()
      )?.at;
    const start = later.now();
    later.advance(10 * MINUTE_MS - 1);
    expect([await status(), await usedAt()]).toEqual([200, start]);
    later.advance(1);
    expect([await status(), await usedAt()]).toEqual([200, start + 10 * MINUTE_MS]);
    later.advance(SESSION_IDLE_HOURS * HOUR_MS - 1);
    expect(await status()).toBe(200);
    later.advance(SESSION_IDLE_HOURS * HOUR_MS);
    expect(await status()).toBe(401);
  });

  it("ends after 30 days, to the millisecond, however often it is used", async () => {
    const { later, status } = await begun();
    const end = later.now() + SESSION_DAYS * DAY_MS;
    for (const step = 11 * HOUR_MS; later.now() + step < end; ) {
      later.advance(step);
      expect(await status()).toBe(200);
    }
    later.advance(end - 1 - later.now());
    expect(await status()).toBe(200);
    later.advance(1);
    expect(await status()).toBe(401);
  });

  it("writes nothing if it has ended between the two trips of a call", async () => {
    const own = await createWorld();
    const [one, other] = [bearer(await own.session()), bearer(await own.session())];
    const rename = (headers: Headers, trading_name: string) =>
      own.call("PATCH", "/v1/platform", { key: null, headers, body: { trading_name } });
    const ends = (headers: Headers) => own.call("DELETE", "/v1/platform/sessions/current", { key: null, headers });
    own.meter.beforeBatch(2, async () => expect((await ends(one)).status).toBe(204));
    const late = await rename(one, "Late");
    expect([late.status, late.body.code]).toEqual([401, "invalid_credentials"]);
    // The end of another session does not matter.
    const third = bearer(await own.session());
    own.meter.beforeBatch(2, async () => expect((await ends(third)).status).toBe(204));
    expect(expectStatus(await rename(other, "In time"), 200).trading_name).toBe("In time");
  });

  it("is stored only as a hash", async () => {
    expect(JSON.stringify(await dumpDatabase())).not.toContain(token);
  });
});

describe("the cookie of a session", () => {
  it("counts for a read from any origin, and for a change only from the service's own origin", async () => {
    expect((await as(cookie(token))).status).toBe(200);
    expect((await as(cookie(token, "https://evil.example"))).status).toBe(200);
    const change = (headers: Headers) => as(headers, "POST", "/v1/principals", principalBody());
    expect((await change(cookie(token, ISSUER))).status).toBe(201);
    const before = await dumpDatabase();
    for (const headers of [
      cookie(token),
      cookie(token, "https://evil.example"),
      cookie(token, "null"),
      cookie(token, `${ISSUER}.evil.example`),
    ]) {
      const reply = await change(headers);
      expect([reply.status, reply.body.code]).toEqual([401, "invalid_credentials"]);
    }
    expect(await dumpDatabase()).toEqual(before);
  });

  it("does not count together with Authorization", async () => {
    const reply = await as({ ...cookie(token, ISSUER), ...bearer("nonsense") });
    expect(reply.status).toBe(401);
  });
});

describe("log-in and log-out", () => {
  it("answers a token and sets it as a cookie that no script and no other site can read", async () => {
    const { email, platformId } = await signUp(world);
    const body = { email, password: "correct horse battery staple" };
    const later = stopped(world);
    const reply = await later.call("POST", "/v1/platform/sessions", { key: null, body });
    const session = expectStatus(reply, 201);
    expect(session.platform_id).toBe(platformId);
    expect(Date.parse(session.expires_at) - later.now()).toBe(SESSION_DAYS * DAY_MS);
    const set = reply.headers.get("set-cookie") ?? "";
    expect(set.startsWith(`__Host-session=${session.session_token}; `)).toBe(true);
    for (const attribute of ["Path=/", "HttpOnly", "Secure", "SameSite=Lax"]) expect(set).toContain(attribute);
  });

  it("ends only the session that logs out", async () => {
    const { email } = await signUp(world);
    const [first, second] = [await logIn(world, email), await logIn(world, email)];
    const out = await as(bearer(first), "DELETE", "/v1/platform/sessions/current");
    expect([out.status, out.headers.get("set-cookie")]).toEqual([204, expect.stringContaining("Max-Age=0")]);
    expect([(await as(bearer(first))).status, (await as(bearer(second))).status]).toEqual([401, 200]);
  });
});
