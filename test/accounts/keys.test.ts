// Management keys (ACC-16, ACC-17, CRED-10, CRED-15): promotion once, rotation with its grace, and what replays.
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS } from "../../src/core/limits.ts";
import { PRODUCTION, type PRODUCTION_STAGES } from "../../src/core/production.ts";
import { PLATFORM_STATUSES } from "../../src/core/vocabulary.ts";
import { market, marketsPath } from "../markets/support.ts";
import { dumpDatabase } from "../support/variants.ts";
import {
  agentBody,
  createWorld,
  env,
  expectStatus,
  type Json,
  principalBody,
  type Reply,
  type World,
} from "../support/world.ts";
import { ask, complete, decide, inReview, operate, type Person } from "./review-support.ts";
import { type Account, bearer, logIn, PASSWORD, post, register, rowsOf, signUp } from "./support.ts";

let world: World;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
});

/** An account of its own, as far as it is said. */
async function accountAt(stage: (typeof PRODUCTION_STAGES)[number]): Promise<Account> {
  const made = await signUp(world);
  if (stage === "unaccredited") return made;
  await accredit(made);
  if (stage === "promoted") expectStatus(await promote(made.key), 200);
  return made;
}
const accredit = ({ platformId }: Account) =>
  env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?").bind(platformId).run();

const promote = (key: string, headers: Record<string, string> = {}) =>
  world.call("POST", "/v1/platform/promote", { key, headers });
const rotate = (key: string, body: unknown = {}, headers: Record<string, string> = {}) =>
  world.call("POST", "/v1/platform/keys/rotate", { key, body, headers });
const works = async (key: string): Promise<number> => (await world.call("GET", "/v1/platform", { key })).status;
const keysOf = async (key: string): Promise<Json[]> =>
  expectStatus(await world.call("GET", "/v1/platform/keys", { key }), 200).data;

describe("promotion", () => {
  it("issues a production key that works at once, and moves nothing else", async () => {
    account = await accountAt("accredited");
    const promoted = expectStatus(await promote(account.key), 200);
    expect(promoted).toMatchObject({ environment: "production", live_key_issued: true });
    const { raw_key: live, key_prefix: prefix } = promoted.api_key;
    expect(live).toMatch(/^service_live_/);
    expect(live.startsWith(prefix)).toBe(true);
    const read = expectStatus(await world.call("GET", "/v1/platform", { key: live }), 200);
    expect(read).toMatchObject({ environment: "production", promoted_at: promoted.promoted_at });
    expect((await keysOf(live)).map(({ environment }) => environment)).toEqual(["production", "sandbox"]);
  });

  it.each([
    ["none", () => ({})],
    ["one", (_at: number, one: string) => ({ "Idempotency-Key": one })],
  ])("issues one key for 50 at once under an Idempotency-Key: %s", async (_name, headersOf) => {
    const { key, platformId } = await accountAt("accredited");
    const one = crypto.randomUUID();
    const replies = await Promise.all(Array.from({ length: 50 }, (_, at) => promote(key, headersOf(at, one))));
    const secrets = new Set(replies.filter(({ status }) => status === 200).map(({ body }) => body.api_key.raw_key));
    expect(secrets.size).toBe(1);
    const codes = new Set(replies.filter(({ status }) => status !== 200).map(({ body }) => body.code));
    for (const code of codes) expect(["already_promoted", "idempotency_key_processing"]).toContain(code);
    const stored = await env.DB.prepare(
      "select count(*) as n from management_keys where platform_id = ? and environment = 'production'",
    ).bind(platformId);
    expect((await stored.first<{ n: number }>())?.n).toBe(1);
    const replay = await promote(key, headersOf(0, one));
    const [secret] = secrets;
    if (_name === "one") expect([replay.status, replay.body.api_key.raw_key]).toEqual([200, secret]);
    else expect([replay.status, replay.body.code]).toEqual([409, "already_promoted"]);
  });

  it("is refused to another credential under the same Idempotency-Key, with the reason", async () => {
    const { key, email } = await accountAt("accredited");
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    expectStatus(await promote(key, headers), 200);
    const session = bearer(await logIn(world, email));
    const reply = await world.call("POST", "/v1/platform/promote", { key: null, headers: { ...headers, ...session } });
    expect([reply.status, reply.body.code, reply.body.type]).toEqual([
      422,
      "idempotency_key_reused",
      "other_credential",
    ]);
  });
});

describe("state × production action", () => {
  type Action = "open_market" | "read" | "rotate_key" | "promote";
  type Owner = Person & { readonly provider: string };
  const inProduction = ({ session }: Owner) => ({ ...bearer(session), "Service-Environment": "production" });
  /** In the order in which they are tried: a promotion changes what the others are. */
  const ACTIONS: Readonly<Record<Action, (of: Owner) => Promise<Reply>>> = {
    open_market: (of) =>
      world.call("POST", marketsPath(of.provider), {
        key: null,
        headers: inProduction(of),
        body: { markets: [market()] },
      }),
    read: (of) => world.call("GET", "/v1/agents", { key: null, headers: inProduction(of) }),
    rotate_key: (of) => ask(world, of, "POST", "/v1/platform/keys/rotate", { body: { environment: "production" } }),
    promote: ({ key }) => promote(key),
  };

  async function provide(person: Person): Promise<Owner> {
    const made = async (path: string, body?: unknown, status = 201) =>
      expectStatus(await world.call("POST", path, { key: person.key, body }), status);
    const { principal_id } = await made("/v1/principals", principalBody());
    const { did } = await made("/v1/agents", { ...agentBody("PROVIDER"), principal_id });
    await made(`/v1/agents/${did}/activate`, undefined, 200);
    return { ...person, provider: did };
  }
  async function begun(): Promise<Owner> {
    const made = await signUp(world);
    return provide({ ...made, session: await logIn(world, made.email) });
  }
  async function approved(): Promise<Owner> {
    const owner = await provide(await inReview(world));
    expectStatus(await decide(world, owner, { decision: "approve" }), 200);
    return owner;
  }
  async function promoted(): Promise<Owner> {
    const owner = await approved();
    expectStatus(await promote(owner.key), 200);
    return owner;
  }
  async function suspended(): Promise<Owner> {
    const owner = await promoted();
    const path = `/v1/operator/platforms/${owner.platformId}/suspend`;
    expectStatus(await operate(world, "POST", path, { reason: "Chargebacks." }), 200);
    return owner;
  }
  async function closed(): Promise<Owner> {
    const owner = await begun();
    const body = { confirmation: owner.email, current_password: PASSWORD };
    expectStatus(await ask(world, owner, "POST", "/v1/platform/close", { body }), 200);
    return owner;
  }

  type Outcome = 200 | `${number} ${string}`;
  const each = (outcome: Outcome): Record<Action, Outcome> => ({
    open_market: outcome,
    read: outcome,
    rotate_key: outcome,
    promote: outcome,
  });
  const unaccredited = { ...each("409 not_accredited"), rotate_key: "409 key_not_provisioned" } as const;
  const accredited = {
    ...each("409 production_locked"),
    rotate_key: "409 key_not_provisioned",
    promote: 200,
  } as const;

  const STATES: [string, () => Promise<Owner>, Record<Action, Outcome>][] = [
    ["PROFILE_PENDING", begun, unaccredited],
    ["KYB_PENDING", async () => provide(await complete(world)), unaccredited],
    ["IN_REVIEW", async () => provide(await inReview(world)), unaccredited],
    ["ACCREDITED", approved, accredited],
    ["ACCREDITED, and promoted", promoted, { ...each(200), promote: "409 already_promoted" }],
    ["SUSPENDED", suspended, each("403 account_suspended")],
    ["CLOSED", closed, each("401 invalid_credentials")],
  ];

  it.each(STATES)("%s: what is allowed, and what changes nothing", async (_state, make, expected) => {
    const owner = await make();
    const seen: Partial<Record<Action, Outcome>> = {};
    for (const action of Object.keys(ACTIONS) as Action[]) {
      const before = await dumpDatabase();
      const { status, body } = await ACTIONS[action](owner);
      seen[action] = status === 200 ? 200 : `${status} ${body.code}`;
      if (status !== 200) expect([action, await dumpDatabase()]).toEqual([action, before]);
    }
    expect(seen).toEqual(expected);
  });

  it("EMAIL_PENDING: there is neither a key nor a session that could try", async () => {
    const { email, platform_id: platformId } = await register(world);
    expect(await rowsOf("management_keys", platformId)).toEqual([]);
    const reply = await post(world, "/v1/platform/sessions", { email, password: PASSWORD });
    expect([reply.status, reply.body.code]).toEqual([403, "email_not_verified"]);
    expect(await rowsOf("sessions", platformId)).toEqual([]);
  });

  it("covers every state", () => {
    const named = STATES.map(([state]) => state.split(",")[0]);
    expect(new Set(["EMAIL_PENDING", ...named])).toEqual(new Set(PLATFORM_STATUSES));
  });

  it("says what the specification says", () => {
    expect(PRODUCTION).toEqual({
      promote: { unaccredited: "not_accredited", accredited: null, promoted: "already_promoted" },
      rotate_key: { unaccredited: "key_not_provisioned", accredited: "key_not_provisioned", promoted: null },
      act: { unaccredited: "not_accredited", accredited: "production_locked", promoted: null },
    });
  });
});

describe("rotation", () => {
  it("ends the previous key at once, without a grace", async () => {
    const { key } = await signUp(world);
    const rotated = expectStatus(await rotate(key), 200);
    expect(Date.parse(rotated.previous_key_expires_at)).toBeLessThanOrEqual(Date.now());
    expect([await works(key), await works(rotated.api_key.raw_key)]).toEqual([401, 200]);
  });

  it("lets both work during a grace, until its end to the second, whatever the sandbox's clock says", async () => {
    const later = await createWorld();
    const { key, platformId } = await signUp(later);
    await env.DB.prepare("update platforms set clock_offset_ms = ? where platform_id = ?")
      .bind(100 * HOUR_MS, platformId)
      .run();
    const reply = await later.call("POST", "/v1/platform/keys/rotate", { key, body: { grace_hours: 2 } });
    const rotated = expectStatus(reply, 200);
    const status = async (of: string) => (await later.call("GET", "/v1/platform", { key: of })).status;
    expect([await status(key), await status(rotated.api_key.raw_key)]).toEqual([200, 200]);
    later.offset = Date.parse(rotated.previous_key_expires_at) - Date.now() - 2_000;
    expect(await status(key)).toBe(200);
    later.offset = Date.parse(rotated.previous_key_expires_at) - Date.now();
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

  it("does not replay for it while the account is SUSPENDED", async () => {
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

  it("makes one key of 50 rotations at once, or as many as followed each other, and one is current", async () => {
    const { key, platformId } = await signUp(world);
    const replies = await Promise.all(Array.from({ length: 50 }, () => rotate(key)));
    const good = replies.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    expect(new Set(replies.filter(({ status }) => status !== 200).map(({ status }) => status))).toEqual(new Set([401]));
    expect(await works(good[0]?.body.api_key.raw_key)).toBe(200);
    const current = env.DB.prepare(
      "select count(*) as n from management_keys where platform_id = ? and expires_at is null",
    ).bind(platformId);
    expect((await current.first<{ n: number }>())?.n).toBe(1);
  });

  it("lets no call of the old key succeed that began after its end", async () => {
    const { key } = await signUp(world);
    let endedAt = Number.POSITIVE_INFINITY;
    const calls = Array.from({ length: 100 }, async (_, at) => {
      await scheduler.wait(at);
      const beganAt = performance.now();
      return { status: await works(key), after: beganAt > endedAt };
    });
    const rotating = rotate(key).then((reply) => {
      endedAt = performance.now();
      return reply;
    });
    expectStatus(await rotating, 200);
    const seen = [...(await Promise.all(calls)), { status: await works(key), after: true }];
    expect(seen.filter(({ status, after }) => after && status !== 401)).toEqual([]);
  });

  it("is of the key's own environment; a session names one", async () => {
    const { key, email } = await accountAt("promoted");
    const foreign = await rotate(key, { environment: "production" });
    expect([foreign.status, foreign.body.code]).toEqual([403, "forbidden"]);
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
  it("shows prefixes, never a key, and when each was last used, within a minute", async () => {
    const { key } = await signUp(world);
    await world.call("GET", "/v1/platform", { key });
    const [listed] = await keysOf(key);
    expect(key.startsWith(listed.key_prefix)).toBe(true);
    expect(JSON.stringify(listed)).not.toContain(key);
    expect(Date.now() - Date.parse(listed.last_used_at)).toBeLessThan(60_000);
  });

  it("writes the last use at most once a minute", async () => {
    const later = await createWorld();
    const { key } = await signUp(later);
    const used = async () =>
      (
        await env.DB.prepare("select last_used_at as at from management_keys where key_prefix = ?")
          .bind(key.slice(0, -43))
          .first<{ at: number }>()
      )?.at;
    await later.call("GET", "/v1/platform", { key });
    const first = await used();
    later.advance(59_000);
    await later.call("GET", "/v1/platform", { key });
    expect(await used()).toBe(first);
    later.advance(1_000);
    await later.call("GET", "/v1/platform", { key });
    expect(await used()).toBeGreaterThan(first ?? 0);
  });
});
