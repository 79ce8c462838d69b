// A fresh proof of the person (CRED-30): acts that a session may do only for ten minutes after its log-in or a confirmation.
import { beforeAll, describe, expect, it } from "vitest";
import { CONFIRMATION_MINUTES, LOG_IN_FAILURES_PER_ACCOUNT, MINUTE_MS } from "../../src/core/limits.ts";
import { market, marketsPath } from "../markets/support.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";
import { type Account, bearer, freshClient, logIn, PASSWORD, post, readAccount, signUp } from "./support.ts";

const WINDOW_MS = CONFIRMATION_MINUTES * MINUTE_MS;
const REQUIRED = [403, "forbidden", "confirmation_required"];
const CONFIRM = "/v1/platform/sessions/current/confirm";

type Person = Account & { readonly token: string };
type Stopped = ReturnType<typeof stopped>;

/** A world whose clock stands still, with an ACCREDITED account and its session. */
async function stage(): Promise<{ world: Stopped; person: Person }> {
  const world = stopped(await createWorld());
  const account = await signUp(world);
  await env.DB.prepare("update platforms set status = 'ACCREDITED' where platform_id = ?")
    .bind(account.platformId)
    .run();
  return { world, person: { ...account, token: await logIn(world, account.email) } };
}

const as = (
  world: World,
  { token, headers }: Person & { headers?: object },
  method: string,
  path: string,
  body?: unknown,
) =>
  world.call(method, path, {
    key: null,
    headers: { ...bearer(token), ...headers },
    ...(body !== undefined && { body }),
  });
const confirm = (
  world: World,
  person: Person,
  body: unknown = { current_password: PASSWORD },
  client = freshClient(),
) => as(world, { ...person, headers: client }, "POST", CONFIRM, body);
/** Ten minutes later, after a call that records the use of the session. */
async function wait(world: Stopped, person: Person): Promise<void> {
  world.advance(WINDOW_MS);
  expectStatus(await as(world, person, "GET", "/v1/platform"), 200);
}
const refusalOf = ({ status, body }: Reply) => [status, body.code, body.type];

/** The acts that need a fresh confirmation, each also with a fault in its values. */
const ACTS: readonly (readonly [what: string, act: (world: World, person: Person) => Promise<Reply>])[] = [
  ["a rotation", (world, person) => as(world, person, "POST", "/v1/platform/keys/rotate", {})],
  ["a faulty rotation", (world, person) => as(world, person, "POST", "/v1/platform/keys/rotate", { grace_hours: -1 })],
  ["a rotation without a body", (world, person) => as(world, person, "POST", "/v1/platform/keys/rotate")],
  ["the promotion", (world, person) => as(world, person, "POST", "/v1/platform/promote")],
  ["a faulty promotion", (world, person) => as(world, person, "POST", "/v1/platform/promote?colour=red")],
  ["who promotes", (world, person) => as(world, person, "PATCH", "/v1/platform", { promotion_by: "session" })],
  [
    "who promotes, with a fault",
    (world, person) => as(world, person, "PATCH", "/v1/platform", { promotion_by: "session", website: 7 }),
  ],
  [
    "where notices go",
    (world, person) => as(world, person, "PATCH", "/v1/platform", { admin_contact_email: "thief@thief.example" }),
  ],
  [
    "where notices go, with another country's fault",
    (world, person) =>
      as(world, person, "PATCH", "/v1/platform", { admin_contact_email: "thief@thief.example", country: "XX" }),
  ],
];

describe("a session whose person was last confirmed too long ago", () => {
  it.each(ACTS)("is refused %s, before any fault of the values, and changes nothing", async (_what, act) => {
    const { world, person } = await stage();
    await wait(world, person);
    const before = await dumpDatabase();
    const reply = await act(world, person);
    expect(refusalOf(reply)).toEqual(REQUIRED);
    expect(reply.body.message).toContain(CONFIRM);
    expect(await dumpDatabase()).toEqual(before);
    expectStatus(await confirm(world, person), 200);
    expect(refusalOf(await act(world, person))).not.toEqual(REQUIRED);
  });

  it("is accepted until ten minutes after the log-in, to the millisecond", async () => {
    const { world, person } = await stage();
    const rotate = () => as(world, person, "POST", "/v1/platform/keys/rotate", {});
    world.advance(WINDOW_MS - 1);
    expectStatus(await rotate(), 200);
    world.advance(1);
    expect(refusalOf(await rotate())).toEqual(REQUIRED);
  });

  it("may do everything else as before, and may send members that stay unchanged", async () => {
    const { world, person } = await stage();
    const set = { promotion_by: "session", admin_contact_email: person.email };
    expectStatus(await as(world, person, "PATCH", "/v1/platform", set), 200);
    world.advance(WINDOW_MS);
    const changed = await as(world, person, "PATCH", "/v1/platform", { ...set, trading_name: "Robots" });
    expect(expectStatus(changed, 200)).toMatchObject({ ...set, trading_name: "Robots" });
    expectStatus(await as(world, person, "GET", "/v1/platform/keys"), 200);
    expectStatus(await as(world, person, "POST", "/v1/customers", { name: "Client" }), 201);
  });

  it("gets first the refusal that the account is not accredited, or was already promoted", async () => {
    const { world, person } = await stage();
    const promote = async () => (await as(world, person, "POST", "/v1/platform/promote")).body.code;
    await env.DB.prepare("update platforms set status = 'IN_REVIEW' where platform_id = ?")
      .bind(person.platformId)
      .run();
    world.advance(WINDOW_MS);
    expect(await promote()).toBe("not_accredited");
    await env.DB.prepare("update platforms set status = 'ACCREDITED', promoted_at = 1 where platform_id = ?")
      .bind(person.platformId)
      .run();
    expect(await promote()).toBe("already_promoted");
  });

  it("leaves no refusal under its Idempotency-Key: after the confirmation the same call rotates", async () => {
    const { world, person } = await stage();
    world.advance(WINDOW_MS);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const rotate = () => as(world, { ...person, headers }, "POST", "/v1/platform/keys/rotate", {});
    expect(refusalOf(await rotate())).toEqual(REQUIRED);
    expectStatus(await confirm(world, person), 200);
    const rotated = expectStatus(await rotate(), 200);
    // A stored outcome is replayed, however old the confirmation is.
    world.advance(WINDOW_MS);
    const again = await rotate();
    expect([again.status, again.body]).toEqual([200, rotated]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  it("does not apply to a management key", async () => {
    const { world, person } = await stage();
    world.advance(WINDOW_MS);
    const { key } = person;
    const { api_key } = expectStatus(await world.call("POST", "/v1/platform/keys/rotate", { key, body: {} }), 200);
    expectStatus(await world.call("POST", "/v1/platform/promote", { key: api_key.raw_key }), 200);
  });
});

describe("the wallet of a market in production", () => {
  const inProduction = { "Service-Environment": "production" };
  /** Refused for any caller. */
  const unknown = { markets: [market({ network: "nowhere" })] };
  let world: World;
  let headers: Record<string, string>;
  let did: string;
  beforeAll(async () => {
    world = await createWorld();
    headers = bearer(await world.session({ confirmedAt: world.now() - WINDOW_MS }));
    ({ did } = await world.draft("PROVIDER"));
  });
  const ask = (method: string, path: string, body?: Json, more: Record<string, string> = inProduction) =>
    world.call(method, path, { key: null, headers: { ...headers, ...more }, ...(body !== undefined && { body }) });

  it("is not changed by a session that must confirm itself, whatever the body says", async () => {
    for (const body of [
      { markets: [market()] },
      unknown,
      { markets: "none" },
      { markets: [market({ market: "x" })] },
    ]) {
      expect(refusalOf(await ask("POST", marketsPath(did), body))).toEqual(REQUIRED);
    }
    expect((await ask("POST", marketsPath(`did:aeap:${crypto.randomUUID()}`), unknown)).status).toBe(404);
  });

  it("is changed by a confirmed session, by a key, and in the sandbox", async () => {
    const fresh = bearer(await world.session());
    const replies = [
      await ask("POST", marketsPath(did), unknown, { ...inProduction, ...fresh }),
      await ask("POST", marketsPath(did), unknown, {}),
      await world.call("POST", marketsPath(did), { key: world.liveKey, body: unknown }),
    ];
    // Refused only by the rules of markets.
    expect(replies.map(({ body }) => body.code)).toEqual([
      ...["market_not_authorized", "validation_failed", "market_not_authorized"],
    ]);
  });

  it("is removed with its market only by a confirmed session", async () => {
    await env.DB.prepare(
      `insert into agent_markets (did, environment, market, network, operational_wallet, status, created_at, updated_at, sole)
       values (?, 'production', 'DE-USDC', 'base-sepolia', '0x', 'ACTIVE', 1, 1, 1)`,
    )
      .bind(did)
      .run();
    const path = `${marketsPath(did)}/DE-USDC`;
    for (const query of ["?network=base-sepolia", "", "?network=base-sepolia&colour=red"]) {
      expect(refusalOf(await ask("DELETE", `${path}${query}`))).toEqual(REQUIRED);
    }
    const fresh = bearer(await world.session());
    const removed = await ask("DELETE", `${path}?network=base-sepolia`, undefined, { ...inProduction, ...fresh });
    expect(removed.status).toBe(204);
  });
});

describe("a confirmation", () => {
  it("takes the password, answers until when it counts, and applies only to the calling session", async () => {
    const { world, person } = await stage();
    const other = { ...person, token: await logIn(world, person.email) };
    world.advance(WINDOW_MS);
    const { confirmed_until } = expectStatus(await confirm(world, person), 200);
    expect(Date.parse(confirmed_until)).toBe(world.now() + WINDOW_MS);
    const rotate = (of: Person) => as(world, of, "POST", "/v1/platform/keys/rotate", {});
    expect(refusalOf(await rotate(other))).toEqual(REQUIRED);
    world.advance(WINDOW_MS - 1);
    expectStatus(await rotate(person), 200);
    world.advance(1);
    expect(refusalOf(await rotate(person))).toEqual(REQUIRED);
  });

  it("costs two trips", async () => {
    const { world, person } = await stage();
    world.meter.reset();
    expectStatus(await confirm(world, person), 200);
    expect(world.meter.reading).toMatchObject({ trips: 2 });
  });

  it.each([
    ["nothing", {}, [["current_password", "required"]]],
    ["both", { current_password: PASSWORD, totp: "123456" }, [["totp", "invalid_value"]]],
    ["a code where there is no TOTP", { totp: "123456" }, [["current_password", "required"]]],
    ["another member", { current_password: PASSWORD, colour: "red" }, [["colour", "unknown_field"]]],
  ])("is refused with %s", async (_what, body, faults) => {
    const { world, person } = await stage();
    const reply = await confirm(world, person, body);
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(reply.body.field_errors.map(({ field, code }: Json) => [field, code])).toEqual(faults);
  });

  it("counts a wrong password as a failed log-in", async () => {
    const { world, person } = await stage();
    const client = freshClient();
    const before = await dumpDatabase();
    for (let n = 0; n < LOG_IN_FAILURES_PER_ACCOUNT; n++) {
      const reply = await confirm(world, person, { current_password: "not the password" }, client);
      expect([reply.status, reply.body.code]).toEqual([422, "current_password_invalid"]);
      expect(reply.body.field_errors).toMatchObject([{ field: "current_password" }]);
    }
    expect((await confirm(world, person, { current_password: PASSWORD }, client)).status).toBe(429);
    const body = { email: person.email, password: PASSWORD };
    expect((await post(world, "/v1/platform/sessions", body, client)).status).toBe(429);
    expect(await dumpDatabase()).toEqual(before);
  });

  it("may be made before the promotion by a session that names production", async () => {
    const { world, person } = await stage();
    const headers = { "Service-Environment": "production", ...freshClient() };
    expectStatus(await as(world, { ...person, headers }, "POST", CONFIRM, { current_password: PASSWORD }), 200);
  });

  it("by a password that is changed while it is judged confirms nothing", async () => {
    const { world, person } = await stage();
    const other = { ...person, token: await logIn(world, person.email) };
    await wait(world, person);
    world.meter.beforeBatch(2, async () => {
      const body = { current_password: PASSWORD, new_password: "another battery staple" };
      expectStatus(await as(world, { ...other, headers: freshClient() }, "POST", "/v1/platform/password", body), 200);
    });
    expect((await confirm(world, person)).status).toBe(401);
    expect((await readAccount(world, person.key)).promotion_by).toBe("key");
  });

  it("can be made only by a person", async () => {
    const { world, person } = await stage();
    const reply = await world.call("POST", CONFIRM, { key: person.key, body: { current_password: PASSWORD } });
    expect(reply.status).toBe(401);
  });
});
