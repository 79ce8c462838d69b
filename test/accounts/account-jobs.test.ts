// Jobs that remove what has expired: accounts that were never verified (ACC-12), and ended sessions, links and keys (CRED-24).
import { beforeEach, describe, expect, it } from "vitest";
import { pruneCredentials } from "../../src/accounts/erase.ts";
import { removeUnverified } from "../../src/accounts/sign-up.ts";
import {
  DAY_MS,
  ENDED_KEY_HOURS,
  HOUR_MS,
  LINK_HOURS,
  SESSION_DAYS,
  SESSION_IDLE_HOURS,
  UNVERIFIED_DAYS,
} from "../../src/core/limits.ts";
import { signActivityHeads } from "../../src/jobs/tend.ts";
import { stopped } from "../support/clock.ts";
import { dumpDatabase, failingBatches, type Moment, withDatabase } from "../support/variants.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";
import { bearer, freshAddress, logIn, mailedToken, PASSWORD, post, register, rowsOf, signUp } from "./support.ts";

const LIFE_MS = UNVERIFIED_DAYS * DAY_MS;

let world: World;
beforeEach(async () => {
  world = stopped(await createWorld());
  // Removes the rows of other tests, which must not be counted here.
  await env.DB.batch([
    env.DB.prepare("delete from platforms where status = 'EMAIL_PENDING'"),
    ...["sessions", "account_links"].map((table) => env.DB.prepare(`delete from ${table}`)),
  ]);
});

/** The tables that still name the account or its address. */
async function tracesOf(...texts: string[]): Promise<string[]> {
  const dump = await dumpDatabase();
  const isTrace = (row: string) => texts.some((text) => row.includes(text));
  return Object.keys(dump)
    .filter((table) => dump[table]?.some(isTrace))
    .sort();
}
const verify = (email: string, at = world) =>
  post(at, "/v1/platform/verify-email", { token: mailedToken(world, email), password: PASSWORD });
const resend = (email: string) => post(world, "/v1/platform/verify-email/resend", { email });

describe("an account that was never verified", () => {
  it("is removed after seven days, not before, with all its rows, and its address is free again", async () => {
    const email = freshAddress();
    const { platform_id: platformId } = await register(world, email);
    await world.run(signActivityHeads);
    const journal = ["activity_chains", "activity_entries", "activity_heads"];
    expect(await tracesOf(platformId)).toEqual(["account_links", ...journal, "passwords", "platforms"]);
    world.advance(LIFE_MS - 1);
    expect(await world.run(removeUnverified)).toBe(0);
    expect((await post(world, "/v1/platform/register", { email, password: "another battery staple" })).status).toBe(
      409,
    );
    world.advance(1);
    expect(await world.run(removeUnverified)).toBe(1);
    expect(await tracesOf(platformId, email)).toEqual([]);
    const again = await register(world, email);
    expect(again.platform_id).not.toBe(platformId);
    expectStatus(await verify(email), 200);
  });

  it("is removed alone: a verified account of the same age stays unchanged", async () => {
    const verified = await signUp(world);
    await register(world);
    world.advance(LIFE_MS);
    const before = await rowsOf("activity_entries", verified.platformId);
    expect(await world.run(removeUnverified)).toBe(1);
    expect(await rowsOf("activity_entries", verified.platformId)).toEqual(before);
    expect((await world.call("GET", "/v1/platform", { key: verified.key })).status).toBe(200);
    expectStatus(
      await post(world, "/v1/platform/sessions", { email: verified.email, password: "correct horse battery staple" }),
      201,
    );
  });

  it("is either verified or removed completely when both happen at once: verified first", async () => {
    const email = freshAddress();
    const { platform_id: platformId } = await register(world, email);
    world.advance(LIFE_MS - HOUR_MS);
    await resend(email);
    world.advance(HOUR_MS);
    const d1 = failingBatches(env.DB, async (batch): Promise<Moment> => {
      if (batch === 2) expectStatus(await verify(email), 200);
      return "never";
    });
    await world.run(removeUnverified, withDatabase(world, d1).deps);
    expect((await rowsOf("platforms", platformId))[0]?.status).toBe("PROFILE_PENDING");
    for (const table of ["passwords", "activity_entries", "management_keys"]) {
      expect((await rowsOf(table, platformId)).length, table).toBeGreaterThan(0);
    }
  });

  it("is either verified or removed completely when both happen at once: removed first", async () => {
    const email = freshAddress();
    const { platform_id: platformId } = await register(world, email);
    world.advance(LIFE_MS - HOUR_MS);
    await resend(email);
    world.advance(HOUR_MS);
    const d1 = failingBatches(env.DB, async (batch): Promise<Moment> => {
      if (batch === 2) expect(await world.run(removeUnverified)).toBe(1);
      return "never";
    });
    const reply = await verify(email, withDatabase(world, d1));
    expect([reply.status, reply.body.code]).toEqual([422, "validation_failed"]);
    expect(await tracesOf(platformId, email)).toEqual([]);
  });

  it("leaves no partial account when ten are verified while the job runs", async () => {
    const emails = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const email = freshAddress();
        const { platform_id: platformId } = await register(world, email);
        return { email, platformId };
      }),
    );
    world.advance(LIFE_MS - HOUR_MS);
    for (const { email } of emails) await resend(email);
    world.advance(HOUR_MS);
    const [, ...replies] = await Promise.all([
      world.run(removeUnverified),
      ...emails.map(async ({ email, platformId }) => ({ platformId, status: (await verify(email)).status })),
    ]);
    for (const { platformId, status } of replies) {
      const traces = await tracesOf(platformId);
      if (status === 200) expect(traces).toEqual(expect.arrayContaining(["management_keys", "passwords", "platforms"]));
      else expect([status, traces]).toEqual([422, []]);
    }
  });

  it("is found by its index: the job reads only as many rows as it removes", async () => {
    await signUp(world);
    world.meter.reset();
    expect(await world.run(removeUnverified)).toBe(0);
    expect(world.meter.reading).toMatchObject({ trips: 1, rowsWritten: 0 });
    expect(world.meter.reading.rowsRead).toBeLessThanOrEqual(1);
  });
});

describe("credentials that have ended", () => {
  /** The number of pruned credentials. Counts of mails end too, and have their own test. */
  const prune = async (): Promise<number> => {
    await env.DB.prepare("delete from mail_counts").run();
    return world.run(pruneCredentials);
  };

  it("are deleted: sessions after their idle or absolute end, while the others stay", async () => {
    const { email, platformId } = await signUp(world);
    const idle = await logIn(world, email);
    world.advance(SESSION_IDLE_HOURS * HOUR_MS - HOUR_MS);
    const used = await logIn(world, email);
    world.advance(HOUR_MS - 1);
    expect(await prune()).toBe(0);
    world.advance(1);
    expect(await prune()).toBe(1);
    expect(await rowsOf("sessions", platformId)).toHaveLength(1);
    const status = async (token: string) =>
      (await world.call("GET", "/v1/platform", { key: null, headers: bearer(token) })).status;
    expect([await status(idle), await status(used)]).toEqual([401, 200]);
    for (let hours = 1; hours < SESSION_DAYS * 24 - 11; hours += 11) {
      world.advance(11 * HOUR_MS);
      expect(await status(used)).toBe(200);
    }
    world.advance(11 * HOUR_MS);
    expect(await status(used)).toBe(401);
    await prune();
    expect(await rowsOf("sessions", platformId)).toEqual([]);
  });

  it("are deleted: links after their end, used or not", async () => {
    const [first, second] = [await signUp(world), freshAddress()];
    const { platform_id: waiting } = await register(world, second);
    world.advance(LINK_HOURS * HOUR_MS - 1);
    expect(await prune()).toBe(0);
    world.advance(1);
    expect(await prune()).toBe(2);
    for (const platformId of [first.platformId, waiting]) expect(await rowsOf("account_links", platformId)).toEqual([]);
  });

  it("are deleted: keys 25 hours after their end, when no rotation can be replayed by them", async () => {
    const { key, platformId } = await signUp(world);
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const rotate = () => world.call("POST", "/v1/platform/keys/rotate", { key, headers, body: {} });
    const first = expectStatus(await rotate(), 200);
    world.advance(ENDED_KEY_HOURS * HOUR_MS - 1);
    await prune();
    expect(await rowsOf("management_keys", platformId)).toHaveLength(2);
    world.advance(1);
    await prune();
    expect(await rowsOf("management_keys", platformId)).toMatchObject([{ key_prefix: first.api_key.key_prefix }]);
    expect((await world.call("GET", "/v1/platform", { key: first.api_key.raw_key })).status).toBe(200);
  });

  it("are deleted slice by slice, however many there are", async () => {
    const ended = Array.from({ length: 450 }, (_, n) => `ended-${world.platformId}-${n}`);
    await env.DB.prepare(
      `insert into sessions (token_hash, platform_id, created_at, used_at, expires_at)
        select value, ?, 0, 0, 1 from json_each(?)`,
    )
      .bind(world.platformId, JSON.stringify(ended))
      .run();
    world.meter.reset();
    expect(await prune()).toBe(450);
    expect(world.meter.reading.trips).toBeLessThanOrEqual(6);
    expect(await rowsOf("sessions", world.platformId)).toEqual([]);
  });
});
