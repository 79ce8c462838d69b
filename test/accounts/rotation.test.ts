// Management keys (ACC-17, CRED-10, CRED-12): rotation with its grace, its replays, and the list of keys.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { interceptDatabases } from "../support/bindings.ts";
import { stopped } from "../support/clock.ts";
import { isWhole } from "../support/scale.ts";
import { dumpDatabase, withVars } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, principalBody, type World } from "../support/world.ts";
import { type Account, bearer, logIn, signUp } from "./support.ts";

const AT_ONCE = isWhole() ? 50 : 10;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const promote = (key: string, headers: Record<string, string> = {}) =>
  world.call("POST", "/v1/platform/promote", { key, headers });
const rotate = (key: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  world.call("POST", "/v1/platform/keys/rotate", { key, body, headers });
const works = async (key: string): Promise<number> => (await world.call("GET", "/v1/platform", { key })).status;
const keysOf = async (key: string): Promise<Json[]> =>
  expectStatus(await world.call("GET", "/v1/platform/keys", { key }), 200).data;

async function promotedAccount(): Promise<Account> {
  const made = await signUp(world);
  await env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?").bind(made.platformId).run();
  expectStatus(await promote(made.key), 200);
  return made;
}

describe("rotation", () => {
  it("ends the previous key at once, without a grace", async () => {
    const { key } = await signUp(world);
    const rotated = expectStatus(await rotate(key), 200);
    expect(Date.parse(rotated.previous_key_expires_at)).toBeLessThanOrEqual(Date.now());
    expect([await works(key), await works(rotated.api_key.raw_key)]).toEqual([401, 200]);
  });

  it("lets both keys work during a grace, until its end to the millisecond, whatever the sandbox's clock says", async () => {
    const later = stopped(await createWorld());
    const { key, platformId } = await signUp(later);
    await env.DB.prepare("update platforms set clock_offset_ms = ? where platform_id = ?")
      .bind(100 * HOUR_MS, platformId)
      .run();
    const reply = await later.call("POST", "/v1/platform/keys/rotate", { key, body: { grace_hours: 2 } });
    const rotated = expectStatus(reply, 200);
    const status = async (of: string) => (await later.call("GET", "/v1/platform", { key: of })).status;
    expect([await status(key), await status(rotated.api_key.raw_key)]).toEqual([200, 200]);
    later.advance(Date.parse(rotated.previous_key_expires_at) - later.now() - 1);
    expect(await status(key)).toBe(200);
    later.advance(1);
    expect([await status(key), await status(rotated.api_key.raw_key)]).toEqual([401, 200]);
  });

  it("ends an earlier grace at once", async () => {
    const { key: first } = await signUp(world);
    const second = expectStatus(await rotate(first, { grace_hours: 24 }), 200).api_key.raw_key;
    const third = expectStatus(await rotate(second, { grace_hours: 24 }), 200).api_key.raw_key;
    expect([await works(first), await works(second), await works(third)]).toEqual([401, 200, 200]);
    expect(await keysOf(third)).toHaveLength(2);
  });

  it("replays for the key that it ended, and that key opens nothing else", async () => {
    const { key } = await signUp(world);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const rotated = expectStatus(await rotate(key, { grace_hours: 0 }, headers), 200);
    const again = await rotate(key, { grace_hours: 0 }, headers);
    expect([again.status, again.body]).toEqual([200, rotated]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    for (const refused of [
      await rotate(key, { grace_hours: 1 }),
      await rotate(key, { grace_hours: 0 }, { "Idempotency-Key": crypto.randomUUID() }),
      await promote(key, headers),
    ]) {
      expect([refused.status, refused.body.code]).toEqual([401, "invalid_credentials"]);
    }
  });

  it("does not replay for that key while the account is SUSPENDED", async () => {
    const { key, platformId } = await signUp(world);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const rotated = expectStatus(await rotate(key, {}, headers), 200);
    const status = (to: string) =>
      env.DB.prepare("update platforms set status = ? where platform_id = ?").bind(to, platformId).run();
    await status("SUSPENDED");
    const refused = await rotate(key, {}, headers);
    expect([refused.status, refused.body.code]).toEqual([403, "account_suspended"]);
    await status("PROFILE_PENDING");
    expect((await rotate(key, {}, headers)).body).toEqual(rotated);
  });

  it("is dated in real time in its entry and its events, whatever the sandbox's clock says", async () => {
    const { key, platformId } = await signUp(world);
    await env.DB.prepare("update platforms set clock_offset_ms = ? where platform_id = ?")
      .bind(100 * HOUR_MS, platformId)
      .run();
    expectStatus(await rotate(key), 200);
    const dated = await env.DB.prepare(
      `select occurred_at as at from activity_entries where platform_id = ?1 and action = 'api_key.rotated'
       union all select occurred_at from events where platform_id = ?1 and type = 'api_key.rotated'`,
    )
      .bind(platformId)
      .all<{ at: number }>();
    expect(dated.results).toHaveLength(2);
    for (const { at } of dated.results) expect(at).toBeLessThanOrEqual(Date.now());
  });

  it("makes one key for simultaneous rotations, and one key is current", async () => {
    const { key, platformId } = await signUp(world);
    const replies = await Promise.all(Array.from({ length: AT_ONCE }, () => rotate(key)));
    const good = replies.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    expect(new Set(replies.filter(({ status }) => status !== 200).map(({ status }) => status))).toEqual(new Set([401]));
    expect(await works(good[0]?.body.api_key.raw_key)).toBe(200);
    const current = env.DB.prepare(
      "select count(*) as n from management_keys where platform_id = ? and expires_at is null",
    ).bind(platformId);
    expect((await current.first<{ n: number }>())?.n).toBe(1);
  });

  it("accepts calls of the old key until its commit, and none afterwards, even before it is answered", async () => {
    const { key } = await signUp(world);
    const seen: number[] = [];
    const { DB } = interceptDatabases(world.deps.env, async (_name, go) => {
      seen.push(await works(key));
      const result = await go();
      seen.push(await works(key));
      return result;
    });
    const reply = await withVars(world, { DB }).call("POST", "/v1/platform/keys/rotate", { key, body: {} });
    expectStatus(reply, 200);
    // Before and after the read, before and after the commit.
    expect(seen.slice(0, 4)).toEqual([200, 200, 200, 401]);
    expect([...new Set(seen.slice(3))]).toEqual([401]);
    expect(await works(key)).toBe(401);
  });

  it("lets no call write whose key ended between its two trips", async () => {
    const own = await createWorld();
    let { key } = own;
    const writes: [string, string, unknown][] = [
      ["POST", "/v1/principals", principalBody()],
      ["PATCH", "/v1/platform", { trading_name: "Other" }],
    ];
    for (const [method, path, body] of writes) {
      expectStatus(await own.call("GET", "/v1/platform", { key }), 200);
      let rotated: Json = {};
      own.meter.beforeBatch(2, async () => {
        rotated = expectStatus(await own.call("POST", "/v1/platform/keys/rotate", { key, body: {} }), 200);
      });
      const late = await own.call(method, path, { key, body });
      expect([path, late.status, late.body.code]).toEqual([path, 401, "invalid_credentials"]);
      key = rotated["api_key"].raw_key;
    }
    const { data } = expectStatus(await own.call("GET", "/v1/platform/activity", { key }), 200);
    const actions = data.map(({ action }: Json) => action);
    expect(actions.slice(0, 2)).toEqual(["api_key.rotated", "api_key.rotated"]);
    expect(actions).not.toContain("principal.registered");
  });

  it("of a key is limited to its own environment; a session names one", async () => {
    const { key, email } = await promotedAccount();
    const foreign = await rotate(key, { environment: "production" });
    expect([foreign.status, foreign.body.code]).toEqual([403, "forbidden"]);
    // Also with other faulty values: the permission is judged first.
    const faulty = await rotate(key, { environment: "production", grace_hours: 25 });
    expect([faulty.status, faulty.body.code]).toEqual([403, "forbidden"]);
    const headers = bearer(await logIn(world, email));
    const body = { environment: "production" };
    const reply = await world.call("POST", "/v1/platform/keys/rotate", { key: null, headers, body });
    expect(expectStatus(reply, 200).api_key.environment).toBe("production");
    expect(await works(key)).toBe(200);
  });

  it.each([
    ["grace_hours", { grace_hours: 25 }, "too_big"],
    ["grace_hours", { grace_hours: -1 }, "too_small"],
    ["grace_hours", { grace_hours: 1.5 }, "invalid_type"],
    ["environment", { environment: "test" }, "invalid_value"],
  ])("refuses a wrong %s %o", async (field, body, code) => {
    const { key } = await signUp(world);
    const before = await dumpDatabase();
    const reply = await rotate(key, body);
    expect([reply.status, reply.body.field_errors]).toEqual([422, [expect.objectContaining({ field, code })]]);
    const after = await dumpDatabase();
    expect(after["activity_entries"]).toEqual(before["activity_entries"]);
    expect(await works(key)).toBe(200);
  });
});

describe("the list of keys", () => {
  it("shows prefixes, never a key, and the last use of each, within a minute", async () => {
    const { key } = await signUp(world);
    const before = Date.now();
    await world.call("GET", "/v1/platform", { key });
    const [listed] = await keysOf(key);
    expect(key.startsWith(listed.key_prefix)).toBe(true);
    expect(JSON.stringify(listed)).not.toContain(key);
    expect(Date.parse(listed.last_used_at)).toBeGreaterThan(before - MINUTE_MS);
    expect(Date.parse(listed.last_used_at)).toBeLessThanOrEqual(Date.now());
  });

  it("records the last use at most once a minute", async () => {
    const later = stopped(await createWorld());
    const { key } = await signUp(later);
    const used = async () =>
      (
        await env.DB.prepare("select last_used_at as at from management_keys where key_prefix = ?")
          .bind(key.slice(0, -43))
          .first<{ at: number }>()
      )?.at;
    await later.call("GET", "/v1/platform", { key });
    const first = await used();
    later.advance(MINUTE_MS - 1);
    await later.call("GET", "/v1/platform", { key });
    expect(await used()).toBe(first);
    later.advance(1);
    await later.call("GET", "/v1/platform", { key });
    expect(await used()).toBeGreaterThan(first ?? 0);
  });
});
