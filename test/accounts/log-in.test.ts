// Log-in (CRED-13, CRED-21): a caller without the password learns nothing, and a guesser is stopped without stopping the owner.
import { scryptSync } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { beginAttempt } from "../../src/accounts/attempts.ts";
import { computeSha256Hex, encodeBase64Url } from "../../src/core/encoding.ts";
import {
  LOG_IN_FAILURES_PER_ACCOUNT,
  LOG_IN_FAILURES_PER_ADDRESS,
  LOG_IN_WINDOW_MINUTES,
  MINUTE_MS,
} from "../../src/core/limits.ts";
import { dumpDatabase, failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Reply, type World } from "../support/world.ts";
import {
  type Account,
  freshAddress,
  freshClient,
  from,
  PASSWORD,
  post,
  register,
  rowsOf,
  signUp,
  withProductionCost,
} from "./support.ts";

const WRONG = "wrong horse battery staple";
const WINDOW_MS = LOG_IN_WINDOW_MINUTES * MINUTE_MS;

let world: World;
let account: Account;
beforeAll(async () => {
  world = await createWorld();
  account = await signUp(world);
});

const attempt = (email: string, password: string, client = freshClient()): Promise<Reply> =>
  post(world, "/v1/platform/sessions", { email, password }, client);
const codeOf = ({ status, body }: Reply) => [status, body.code];
const counted = (replies: readonly Reply[], status: number) =>
  replies.filter((reply) => reply.status === status).length;
const setStatus = (status: string, platformId: string) =>
  env.DB.prepare("update platforms set status = ?, closed_at = ? where platform_id = ?")
    .bind(status, status === "CLOSED" ? 1 : null, platformId)
    .run();

const storeHash = (platformId: string, hash: string) =>
  env.DB.prepare("update passwords set hash = ? where platform_id = ?").bind(hash, platformId).run();

/** A hash of the right password, with weaker parameters. */
function weakHash(): string {
  const salt = new Uint8Array(16).fill(7);
  const derived = scryptSync(PASSWORD, salt, 32, { N: 2 ** 12, r: 8, p: 1 });
  return `scrypt$4096$8$1$${encodeBase64Url(salt)}$${encodeBase64Url(derived)}`;
}

describe("a log-in", () => {
  it("takes the address in any case, and stores the session only as a hash", async () => {
    const reply = await attempt(account.email.toUpperCase(), PASSWORD);
    const { session_token: token } = expectStatus(reply, 201);
    expect(await rowsOf("sessions", account.platformId)).toContainEqual(
      expect.objectContaining({ token_hash: await computeSha256Hex(token) }),
    );
    expect(JSON.stringify(await dumpDatabase())).not.toContain(token);
    const [entry] = (await rowsOf("activity_entries", account.platformId)).filter(
      ({ action }) => action === "session.created",
    );
    expect(entry).toMatchObject({ actor_type: "dashboard_admin", actor_id: account.email });
  });

  it("costs two trips", async () => {
    world.meter.reset();
    expectStatus(await attempt(account.email, PASSWORD), 201);
    expect(world.meter.reading).toMatchObject({ trips: 2 });
  });

  it("answers an unknown address like a wrong password, byte for byte except the request's id", async () => {
    const [unknown, wrong] = [await attempt(freshAddress(), WRONG), await attempt(account.email, WRONG)];
    expect(codeOf(unknown)).toEqual([401, "invalid_credentials"]);
    const without = ({ body, headers }: Reply) => {
      const { request_id: _, ...rest } = body;
      const names = [...headers].filter(([name]) => !/^(request-id|ratelimit)$/.test(name));
      return [rest, names];
    };
    expect(without(unknown)).toEqual(without(wrong));
  });

  it.each([
    ["SUSPENDED", "account_suspended"],
    ["EMAIL_PENDING", "email_not_verified"],
  ])("reveals that an account is %s only after the right password", async (status, code) => {
    const email = freshAddress();
    const { platform_id: platformId } = await register(world, email);
    await setStatus(status, platformId);
    expect(codeOf(await attempt(email, WRONG))).toEqual([401, "invalid_credentials"]);
    expect(codeOf(await attempt(email, PASSWORD))).toEqual([403, code]);
    expect(await rowsOf("sessions", platformId)).toEqual([]);
  });

  it("refuses a CLOSED account like an unknown one", async () => {
    const closed = await signUp(world);
    await setStatus("CLOSED", closed.platformId);
    expect(codeOf(await attempt(closed.email, PASSWORD))).toEqual([401, "invalid_credentials"]);
  });

  it("replaces a hash with weaker parameters, and keeps one with the current ones", async () => {
    const strict = withProductionCost(world);
    const attempt = (email: string, password: string) => post(strict, "/v1/platform/sessions", { email, password });
    const old = await signUp(world);
    const weak = weakHash();
    await storeHash(old.platformId, weak);
    const hashOf = async () => (await rowsOf("passwords", old.platformId))[0]?.hash;
    expect((await attempt(old.email, WRONG)).status).toBe(401);
    expect(await hashOf()).toBe(weak);
    expectStatus(await attempt(old.email, PASSWORD), 201);
    const strong = await hashOf();
    expect(strong).toMatch(/^scrypt\$16384\$8\$5\$/);
    expectStatus(await attempt(old.email, PASSWORD), 201);
    expect(await hashOf()).toBe(strong);
  });

  it("ends in a session or in 429 when ten come at once", async () => {
    const client = freshClient();
    const replies = await Promise.all(Array.from({ length: 10 }, () => attempt(account.email, PASSWORD, client)));
    expect(replies.map(({ status }) => status).filter((status) => status !== 201 && status !== 429)).toEqual([]);
    expect(counted(replies, 201)).toBeGreaterThan(0);
    // None of them has failed, so all of them were uncounted.
    expectStatus(await attempt(account.email, PASSWORD, client), 201);
  });
});

describe("failures", () => {
  it("stop the client at exactly ten for one account, under 40 at once, and state when to come back", async () => {
    const { email } = await signUp(world);
    const client = freshClient();
    const replies = await Promise.all(Array.from({ length: 40 }, () => attempt(email, WRONG, client)));
    expect([counted(replies, 401), counted(replies, 429)]).toEqual([
      LOG_IN_FAILURES_PER_ACCOUNT,
      40 - LOG_IN_FAILURES_PER_ACCOUNT,
    ]);
    const refused = await attempt(email, PASSWORD, client);
    expect(codeOf(refused)).toEqual([429, "rate_limited"]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(WINDOW_MS / 1_000);
    // The owner at another address is not locked out, and the client may try another account.
    expectStatus(await attempt(email, PASSWORD), 201);
    expectStatus(await attempt(account.email, PASSWORD, client), 201);
  });

  it("count for an address without an account too, so that the refusal reveals nothing", async () => {
    const [email, client] = [freshAddress(), freshClient()];
    const replies = await Promise.all(Array.from({ length: 12 }, () => attempt(email, WRONG, client)));
    expect([counted(replies, 401), counted(replies, 429)]).toEqual([10, 2]);
  });

  it("stop the client at 30 over all accounts, and a whole /64 of IPv6 is one client", async () => {
    const guesses = Array.from({ length: 32 }, (_, n) =>
      attempt(`guess-${n}@nobody.example`, WRONG, from(`2001:db8:7:7::${(n + 1).toString(16)}`)),
    );
    const replies = await Promise.all(guesses);
    expect([counted(replies, 401), counted(replies, 429)]).toEqual([LOG_IN_FAILURES_PER_ADDRESS, 2]);
    expect((await attempt(account.email, PASSWORD, from("2001:db8:7:7:ffff::1"))).status).toBe(429);
    expectStatus(await attempt(account.email, PASSWORD, from("2001:db8:7:8::1")), 201);
  });

  it("leave the window after 15 minutes, oldest first, and are then no longer stored", async () => {
    const guard = env.ATTEMPTS.get(env.ATTEMPTS.idFromName("192.0.2.0/24"));
    const limits = { windowMs: WINDOW_MS, perAccount: 2, perAddress: 3 };
    const by = (name: string) => ({ account: name, address: "192.0.2.77" });
    const begin = (name: string, at: number) => guard.begin(by(name), at, limits, { atOnce: 1, everyMs: 0 });
    const now = Date.now();
    expect(await begin("a", now)).toMatchObject({ ok: true });
    expect(await begin("a", now + 1_000)).toMatchObject({ ok: true });
    expect(await begin("a", now + 2_000)).toEqual({ ok: false, retryAfterMs: WINDOW_MS - 2_000 });
    expect(await begin("b", now + 3_000)).toMatchObject({ ok: true });
    expect(await begin("b", now + 4_000)).toEqual({ ok: false, retryAfterMs: WINDOW_MS - 4_000 });
    expect(await begin("b", now + WINDOW_MS - 1)).toMatchObject({ ok: false });
    expect(await begin("a", now + WINDOW_MS)).toMatchObject({ ok: true });
    await guard.forgive(by("a"));
    expect(await begin("a", now + WINDOW_MS)).toMatchObject({ ok: true });
  });

  it("do not include log-ins that succeeded", async () => {
    const client = "192.0.2.78";
    for (let n = 0; n < LOG_IN_FAILURES_PER_ADDRESS + 1; n++) {
      const given = await beginAttempt(world.deps, client, account.email);
      await given.giveBack();
    }
    expectStatus(await attempt(account.email, PASSWORD, from(client)), 201);
  });
});

describe("a log-in whose password is changed while it is judged", () => {
  it.each([
    ["of today's parameters", null],
    ["of weaker parameters", weakHash],
  ])("begins no session and stores no hash, with a hash %s", async (_what, weak) => {
    const one = await signUp(world);
    if (weak) await storeHash(one.platformId, weak());
    const other = (await rowsOf("passwords", account.platformId))[0]?.hash;
    const batches: number[] = [];
    const d1 = failingBatches(env.DB, async (batch): Promise<Moment> => {
      batches.push(batch);
      if (batch === 2) await storeHash(one.platformId, other.replace(/.{4}$/, "AAAA"));
      return "never";
    });
    const body = { email: one.email, password: PASSWORD };
    const reply = await post(withDatabase(world, d1), "/v1/platform/sessions", body, freshClient());
    expect(codeOf(reply)).toEqual([401, "invalid_credentials"]);
    expect(batches.length).toBe(3);
    expect(await rowsOf("sessions", one.platformId)).toEqual([]);
    expect((await rowsOf("passwords", one.platformId))[0]?.hash).toBe(other.replace(/.{4}$/, "AAAA"));
  });
});
