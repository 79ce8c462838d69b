// A management key ends to the millisecond, also for a call that is under way (CRED-10, CRED-11).
import { and, eq } from "drizzle-orm";
import { beforeAll, describe, expect, it } from "vitest";
import { HOUR_MS, MINUTE_MS } from "../../src/core/limits.ts";
import { managementKeys } from "../../src/db/tables/accounts.ts";
import { principals } from "../../src/db/tables/principals.ts";
import { moveClock, stopped } from "../support/clock.ts";
import { createWorld, expectStatus, principalBody, type World } from "../support/world.ts";

let world: ReturnType<typeof stopped>;
beforeAll(async () => {
  world = stopped(await createWorld());
});

const endSandboxKey = ({ deps: { db }, platformId }: World, expiresAt: number) =>
  db
    .update(managementKeys)
    .set({ expiresAt })
    .where(and(eq(managementKeys.platformId, platformId), eq(managementKeys.environment, "sandbox")));
const statusOf = async (key: string) => (await world.call("GET", "/v1/platform", { key })).status;

describe("a management key", () => {
  it("ends at its instant, without any other key of its platform", async () => {
    await endSandboxKey(world, world.now() + HOUR_MS);
    world.advance(HOUR_MS - 1);
    expect(await statusOf(world.key)).toBe(200);
    world.advance(1);
    expect([await statusOf(world.key), await statusOf(world.liveKey)]).toEqual([401, 200]);
  });

  it("records its use at most once a minute", async () => {
    const own = stopped(await createWorld());
    const used = async () => {
      await own.call("GET", "/v1/platform");
      const [row] = await own.deps.db
        .select({ at: managementKeys.lastUsedAt })
        .from(managementKeys)
        .where(and(eq(managementKeys.platformId, own.platformId), eq(managementKeys.environment, "sandbox")));
      return row?.at;
    };
    await own.deps.db.update(managementKeys).set({ lastUsedAt: null });
    const first = own.now();
    expect(await used()).toBe(first);
    own.advance(MINUTE_MS - 1);
    expect(await used()).toBe(first);
    own.advance(1);
    expect(await used()).toBe(first + MINUTE_MS);
  });

  it("ends in real time: a test clock does not move its end", async () => {
    const { now } = world;
    await moveClock(world, 2 * HOUR_MS);
    await endSandboxKey(world, now() + 1);
    expect(await statusOf(world.key)).toBe(200);
    await endSandboxKey(world, now());
    expect(await statusOf(world.key)).toBe(401);
    await moveClock(world, 0);
  });

  it("writes nothing if it has ended between the two trips of a call", async () => {
    const own = await createWorld();
    const register = () => own.call("POST", "/v1/principals", { body: principalBody() });
    own.meter.beforeBatch(2, () => endSandboxKey(own, own.now() - 1));
    const late = await register();
    expect([late.status, late.body.code]).toEqual([401, "invalid_credentials"]);
    await endSandboxKey(own, own.now() + HOUR_MS);
    const registered = () => own.deps.db.$count(principals, eq(principals.platformId, own.platformId));
    const before = await registered();
    expectStatus(await register(), 201);
    expect([before, await registered()]).toEqual([1, 2]);
  });
});
