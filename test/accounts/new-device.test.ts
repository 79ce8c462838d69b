// A log-in from a new device or network is mailed to the owner (CRED-29).
import { beforeAll, describe, expect, it } from "vitest";
import { pruneCredentials } from "../../src/accounts/erase.ts";
import { DAY_MS, KNOWN_DEVICE_DAYS } from "../../src/core/limits.ts";
import { stopped } from "../support/clock.ts";
import { createWorld, env, expectStatus } from "../support/world.ts";
import { type Account, from, mailedToken, PASSWORD, post, register, rowsOf } from "./support.ts";

const SEEN_MS = KNOWN_DEVICE_DAYS * DAY_MS;
const FIREFOX = { "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };
const CURL = { "User-Agent": "curl/8.14" };
const HOME = from("203.0.113.7");
const OFFICE = from("198.51.100.7");

let world: ReturnType<typeof stopped>;
beforeAll(async () => {
  world = stopped(await createWorld());
});

type Headers = Record<string, string>;

/** Signed up, and verified with Firefox at home. */
async function account(): Promise<Pick<Account, "platformId" | "email">> {
  const { email, platform_id: platformId } = await register(world);
  const body = { token: mailedToken(world, email), password: PASSWORD };
  expectStatus(await post(world, "/v1/platform/verify-email", body, { ...FIREFOX, ...HOME }), 200);
  return { email, platformId };
}
const enter = async ({ email }: Pick<Account, "email">, headers: Headers): Promise<string> =>
  expectStatus(await post(world, "/v1/platform/sessions", { email, password: PASSWORD }, headers), 201).session_id;
const toldOf = async ({ platformId }: Pick<Account, "platformId">) =>
  (await rowsOf("notices", platformId))
    .filter(({ kind }) => kind === "customer.session_opened")
    .map(({ data }) => JSON.parse(data))
    .map(({ device, network }) => [device, network]);

describe("a log-in", () => {
  it("from the place where the mailed link was verified is not reported", async () => {
    const one = await account();
    await enter(one, { ...FIREFOX, ...HOME });
    await enter(one, { ...FIREFOX, ...from("203.0.113.99") });
    expect(await toldOf(one)).toEqual([]);
  });

  it("with another device, from another network, or both, is reported once each, with its place", async () => {
    const one = await account();
    const places: [Headers, string[]][] = [
      [{ ...CURL, ...HOME }, ["curl", "203.0.113.0/24"]],
      [{ ...FIREFOX, ...OFFICE }, ["Firefox on Linux", "198.51.100.0/24"]],
      [{ ...CURL, ...OFFICE }, ["curl", "198.51.100.0/24"]],
    ];
    for (const [headers] of [...places, ...places]) {
      world.advance(1);
      await enter(one, headers);
    }
    expect(await toldOf(one)).toEqual(places.map(([, told]) => told));
  });

  it("is reported again after 90 days without one, to the millisecond", async () => {
    const one = await account();
    await enter(one, { ...FIREFOX, ...HOME });
    world.advance(SEEN_MS - 1);
    await enter(one, { ...FIREFOX, ...HOME });
    world.advance(SEEN_MS);
    expect(await toldOf(one)).toEqual([]);
    await enter(one, { ...FIREFOX, ...HOME });
    expect(await toldOf(one)).toEqual([["Firefox on Linux", "203.0.113.0/24"]]);
  });

  it("is an entry of the log, which names the session, its device and its network", async () => {
    const one = await account();
    const session = await enter(one, { ...CURL, ...OFFICE });
    const entries = (await rowsOf("activity_entries", one.platformId)).filter(
      ({ action }) => action === "session.created",
    );
    expect(entries).toMatchObject([{ subject_type: "session", subject_id: session, actor_id: one.email }]);
    expect(JSON.parse(entries[0].changes)).toEqual({
      device: { from: null, to: "curl" },
      network: { from: null, to: "198.51.100.0/24" },
    });
  });

  it("of another account does not make a place known", async () => {
    const [one, other] = [await account(), await account()];
    await enter(other, { ...CURL, ...OFFICE });
    await enter(one, { ...CURL, ...OFFICE });
    expect(await toldOf(one)).toHaveLength(1);
  });

  it("that is refused records no device", async () => {
    const one = await account();
    const before = await rowsOf("seen_devices", one.platformId);
    const body = { email: one.email, password: "wrong horse battery staple" };
    expect((await post(world, "/v1/platform/sessions", body, { ...CURL, ...OFFICE })).status).toBe(401);
    expect(await rowsOf("seen_devices", one.platformId)).toEqual(before);
  });
});

describe("a seen device", () => {
  it("is deleted after 90 days, and not before", async () => {
    await env.DB.batch(
      ["sessions", "account_links", "seen_devices"].map((table) => env.DB.prepare(`delete from ${table}`)),
    );
    const one = await account();
    world.advance(SEEN_MS - 1);
    await world.run(pruneCredentials);
    expect(await rowsOf("seen_devices", one.platformId)).toHaveLength(1);
    world.advance(1);
    await enter(one, { ...CURL, ...OFFICE });
    await world.run(pruneCredentials);
    expect(await rowsOf("seen_devices", one.platformId)).toMatchObject([{ device: "curl" }]);
  });
});
