// Log-ins of one account over all addresses (CRED-31): after a hundred failures within 24 hours only its known networks may log in, whether or not
// the account exists.
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { beginAttempt } from "../../src/accounts/attempts.ts";
import { computeSha256Hex } from "../../src/core/encoding.ts";
import { DAY_MS, HOUR_MS, KNOWN_DEVICE_DAYS, LOG_IN_FAILURES_A_DAY } from "../../src/core/limits.ts";
import { foldName } from "../../src/core/text.ts";
import { dumpDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type Reply, type World } from "../support/world.ts";
import {
  type Account,
  bearer,
  freshAddress,
  from,
  linksTo,
  mailedToken,
  PASSWORD,
  post,
  register,
  rowsOf,
  signUp,
} from "./support.ts";

const WRONG = "wrong horse battery staple";
const NEW = "another battery staple";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Each call comes from another /24, so that no client reaches its own limit. */
let networks = 0;
const otherAddress = () => `10.${Math.floor(++networks / 250)}.${networks % 250}.1`;
const elsewhere = () => from(otherAddress());
/** The owner's network, and two clients of it. */
const HOME = from("203.0.113.7");
const NEXT_DOOR = from("203.0.113.99");

const enter = (email: string, password = PASSWORD, client = elsewhere()): Promise<Reply> =>
  post(world, "/v1/platform/sessions", { email, password }, client);
const guess = async (email: string, times: number): Promise<number[]> =>
  (await Promise.all(Array.from({ length: times }, () => enter(email, WRONG)))).map(({ status }) => status);
/** Failures like those of `guess`, without the cost of a derivation. Returns how long a stranger waits after each. */
const fail = async (email: string, times: number): Promise<number[]> => {
  const waits: number[] = [];
  for (let n = 0; n < times; n++) {
    const attempt = await beginAttempt(world.deps, otherAddress(), email);
    await attempt.fail();
    waits.push(attempt.strangersWaitMs);
  }
  return waits;
};
const noticesOf = async ({ platformId }: Pick<Account, "platformId">) =>
  (await rowsOf("notices", platformId)).filter(({ kind }) => kind === "customer.log_ins_limited");

/** An account that was logged in to from home. */
async function owner(): Promise<Account> {
  const account = await signUp(world);
  expectStatus(await enter(account.email, PASSWORD, HOME), 201);
  return account;
}
const refusal = ({ status, body, headers }: Reply) => {
  const { request_id: _, ...rest } = body;
  return [status, rest, [...headers].filter(([name]) => !/^(request-id|ratelimit)$/.test(name)).map(([name]) => name)];
};

describe("a hundred failures from many addresses", () => {
  it("leave the account to its known networks: 40 simultaneous guesses do not, and the 101st is 429", async () => {
    const one = await owner();
    expect(new Set(await guess(one.email, 40))).toEqual(new Set([401]));
    expectStatus(await enter(one.email), 201);
    expect(new Set(await guess(one.email, 60))).toEqual(new Set([401]));
    const refused = await enter(one.email);
    expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(DAY_MS / 1_000);
    // From home and from next door, the owner logs in with the right password; a wrong one gets the usual refusal.
    expectStatus(await enter(one.email, PASSWORD, HOME), 201);
    expectStatus(await enter(one.email, PASSWORD, NEXT_DOOR), 201);
    expect((await enter(one.email, WRONG, HOME)).status).toBe(401);
    expect((await enter(one.email, WRONG)).status).toBe(429);
  });

  it("are counted exactly, also when 130 come at once", async () => {
    const { email } = await owner();
    const statuses = await guess(email, 130);
    expect(statuses.filter((status) => status === 401)).toHaveLength(LOG_IN_FAILURES_A_DAY);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30);
  });

  it("are answered in the same way for an address without an account", async () => {
    const [known, unknown] = [(await owner()).email, freshAddress()];
    const before = (await dumpDatabase())["notices"]?.length ?? 0;
    for (const email of [known, unknown]) {
      await fail(email, LOG_IN_FAILURES_A_DAY - 1);
      expect(await guess(email, 1)).toEqual([401]);
      expect(await guess(email, 1)).toEqual([429]);
    }
    world.meter.reset();
    const ofUnknown = await enter(unknown);
    const { trips } = world.meter.reading;
    world.meter.reset();
    const ofKnown = await enter(known);
    expect(refusal(ofUnknown)).toEqual(refusal(ofKnown));
    expect([ofKnown.status, trips, world.meter.reading.trips]).toEqual([429, 1, 1]);
    expect((await enter(unknown, PASSWORD, HOME)).status).toBe(429);
    // One notice, to the owner of the known account.
    expect((await dumpDatabase())["notices"]).toHaveLength(before + 1);
  });

  it("are reported to the owner once", async () => {
    const one = await owner();
    await fail(one.email, LOG_IN_FAILURES_A_DAY - 1);
    expect(await noticesOf(one)).toEqual([]);
    await fail(one.email, 20);
    expect(await noticesOf(one)).toMatchObject([{ recipient: one.email }]);
  });

  it("are reported again only after 24 hours, though the account opens and shuts meanwhile", async () => {
    const start = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: start });
    const one = await owner();
    const told: number[] = [];
    // The oldest leave the window in the third round, and all but those of the third in the fourth.
    for (const [hours, times] of [
      [0, 60],
      [12, 40],
      [24, 60],
      [36, 40],
    ] as const) {
      vi.setSystemTime(start + hours * HOUR_MS);
      expect(new Set(await fail(one.email, times))).toEqual(new Set([0]));
      told.push((await noticesOf(one)).length);
    }
    expect(told).toEqual([0, 1, 1, 2]);
  });

  it("are not reported for an unverified account", async () => {
    const email = freshAddress();
    const { platform_id: platformId } = await register(world, email);
    await fail(email, LOG_IN_FAILURES_A_DAY);
    expect(await noticesOf({ platformId })).toEqual([]);
    // A mailed link counts from every network.
    const body = { token: mailedToken(world, email), password: PASSWORD };
    expectStatus(await post(world, "/v1/platform/verify-email", body, elsewhere()), 200);
  });

  it("are forgotten by a reset of the password", async () => {
    const one = await owner();
    await fail(one.email, LOG_IN_FAILURES_A_DAY);
    expect((await enter(one.email)).status).toBe(429);
    const links = linksTo(world, one.email);
    await post(world, "/v1/platform/password/forgot", { email: one.email });
    expect(linksTo(world, one.email)).toBe(links + 1);
    const body = { token: mailedToken(world, one.email), new_password: NEW };
    expectStatus(await post(world, "/v1/platform/password/reset", body, elsewhere()), 200);
    expectStatus(await enter(one.email, NEW), 201);
    expect(new Set(await fail(one.email, LOG_IN_FAILURES_A_DAY))).toEqual(new Set([0]));
    expect((await enter(one.email, NEW)).status).toBe(429);
    // Another window, another mail.
    expect(await noticesOf(one)).toHaveLength(2);
  });

  it("count for 24 hours: the account opens when the oldest leave the window", async () => {
    const one = await owner();
    await fail(one.email, LOG_IN_FAILURES_A_DAY);
    const account = await computeSha256Hex(foldName(one.email));
    const guard = env.ATTEMPTS.get(env.ATTEMPTS.idFromName(`account ${account}`));
    const [failed, none] = [
      { account: "failed", address: "" },
      { atOnce: 0, everyMs: 0 },
    ];
    const limits = { windowMs: DAY_MS, perAccount: LOG_IN_FAILURES_A_DAY, perAddress: Number.POSITIVE_INFINITY };
    expect(await guard.begin(failed, Date.now() + DAY_MS - 60_000, limits, none)).toMatchObject({ ok: false });
    expect(await guard.begin(failed, Date.now() + DAY_MS, limits, none)).toMatchObject({ ok: true, left: 99 });
  });

  it("do not include those that the client's own limit refuses", async () => {
    const { email } = await owner();
    const client = from("192.0.2.90");
    const replies = await Promise.all(Array.from({ length: 120 }, () => enter(email, WRONG, client)));
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(10);
    expectStatus(await enter(email), 201);
  });

  it("do not include log-ins that succeeded, from any number of addresses", async () => {
    const { email } = await owner();
    await fail(email, LOG_IN_FAILURES_A_DAY - 1);
    for (let n = 0; n < 3; n++) {
      const attempt = await beginAttempt(world.deps, `198.18.${n}.1`, email);
      expect(attempt.strangersWaitMs).toBe(0);
      await attempt.giveBack();
    }
    expectStatus(await enter(email), 201);
  });
});

describe("a known network", () => {
  it("is one from which the account was logged in to, or whose link was verified, within 90 days", async () => {
    const one = await owner();
    const link = freshAddress();
    await register(world, link);
    const body = { token: mailedToken(world, link), password: PASSWORD };
    expectStatus(await post(world, "/v1/platform/verify-email", body, HOME), 200);
    await fail(one.email, LOG_IN_FAILURES_A_DAY);
    await fail(link, LOG_IN_FAILURES_A_DAY);
    expectStatus(await enter(link, PASSWORD, HOME), 201);
    const seen = (by: number) =>
      env.DB.prepare("update seen_devices set seen_at = ? where platform_id = ? and network = '203.0.113.0/24'")
        .bind(world.now() - by, one.platformId)
        .run();
    await seen(KNOWN_DEVICE_DAYS * DAY_MS);
    expect((await enter(one.email, PASSWORD, HOME)).status).toBe(429);
    await seen(KNOWN_DEVICE_DAYS * DAY_MS - 60_000);
    expectStatus(await enter(one.email, PASSWORD, HOME), 201);
  });

  it("belongs to one account only", async () => {
    const [one, other] = [await owner(), await signUp(world)];
    await fail(other.email, LOG_IN_FAILURES_A_DAY);
    expectStatus(await enter(one.email, PASSWORD, HOME), 201);
    expect((await enter(other.email, PASSWORD, HOME)).status).toBe(429);
  });

  it("of a session is that of its log-in, and the session's wrong passwords count too", async () => {
    const one = await signUp(world);
    const token = expectStatus(await enter(one.email, PASSWORD, HOME), 201).session_token;
    const confirm = (password: string, client: Record<string, string>) =>
      post(
        world,
        "/v1/platform/sessions/current/confirm",
        { current_password: password },
        {
          ...bearer(token),
          ...client,
        },
      );
    const guesses = Array.from({ length: LOG_IN_FAILURES_A_DAY }, () => confirm(WRONG, elsewhere()));
    expect(new Set((await Promise.all(guesses)).map(({ status }) => status))).toEqual(new Set([422]));
    expect((await confirm(PASSWORD, elsewhere())).status).toBe(429);
    expectStatus(await confirm(PASSWORD, NEXT_DOOR), 200);
    expect((await enter(one.email)).status).toBe(429);
  });
});
