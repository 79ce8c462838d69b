// Ratings that decay has moved are published again, once each (TSK-23).
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { publishRatings } from "../../src/agents/ratings.ts";
import { sweepSandboxes } from "../../src/sandbox/due.ts";
import { AGENTS, changesFrom, read } from "../directory/support.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { stopped } from "../support/clock.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";

const DAY = 86_400_000;
let world: World;
let other: World;
beforeAll(async () => {
  [world, other] = [await createWorld(), await createWorld()];
});
beforeEach(() => {
  world.offset = 0;
});

/** A pair whose task is confirmed: both sides are rated. */
async function rated(): Promise<{ provider: string; consumer: string }> {
  const pair = { provider: await world.provider(), consumer: await other.consumer() };
  const { task } = await facilitated(world, pair);
  expectStatus(await confirm(other, pair.consumer, task), 200);
  return { provider: pair.provider.did, consumer: pair.consumer.did };
}
const shown = async (did: string): Promise<Json> => read(world, `${AGENTS}/${did}`);
const one = async (sql: string, did: string): Promise<Json> => env.DB.prepare(sql).bind(did).first();
const dueOf = async (did: string) =>
  (await one("select republish_at as at, republish_by as by from agents where did = ?", did)) as {
    at: number;
    by: string;
  };
const recordsOf = async (did: string, cursor: string) =>
  (await changesFrom(other, `cursor=${cursor}`)).records
    .filter((record) => record.did === did)
    .map(({ change_type }) => change_type);

describe("the job", () => {
  it("publishes the rating that decay has moved, with its document, its threshold and one record", async () => {
    const { provider } = await rated();
    const { agent_rating: before } = await shown(provider);
    const { cursor } = await changesFrom(world, "");
    const state = () =>
      one(
        "select a.revision, a.agent_rating, e.threshold from agents a join escrows e on e.did = a.did where a.did = ?",
        provider,
      );
    const earlier = await state();
    world.advance(60 * DAY);
    await Promise.all([world.run(publishRatings), world.run(publishRatings)]);
    await world.run(publishRatings);
    const after = await shown(provider);
    expect(after.agent_rating).toBeLessThan(before);
    const later = await state();
    expect([later.agent_rating, later.revision, later.threshold > earlier.threshold]).toEqual([
      after.agent_rating,
      earlier.revision + 1,
      true,
    ]);
    expect(await recordsOf(provider, cursor)).toEqual(["updated"]);
    const status = await read(world, `/v1/agents/${provider}/aid`);
    expect(status.performance.agent_rating).toBe(after.agent_rating);
    // It is due again when decay will have moved it by a hundredth more.
    const { at } = await dueOf(provider);
    const still = stopped(world);
    still.advance(at - 1 - still.now());
    await still.run(publishRatings);
    expect((await shown(provider)).agent_rating).toBe(after.agent_rating);
    still.advance(1);
    await still.run(publishRatings);
    expect((await shown(provider)).agent_rating).toBeCloseTo(after.agent_rating - 0.01, 9);
  });

  it("reads no agent whose rating stays", async () => {
    await rated();
    world.meter.reset();
    const { db } = world.deps;
    const before = world.meter.reading.rowsRead;
    expect(await publishRatings.find(world.deps, null, 100)).toEqual([]);
    expect(db && world.meter.reading.rowsRead - before).toBeLessThanOrEqual(2);
  });

  it("publishes nothing that decay has not moved yet, and notes it again", async () => {
    const { provider } = await rated();
    await env.DB.prepare("update agents set republish_at = 1 where did = ?").bind(provider).run();
    const { cursor } = await changesFrom(world, "");
    await world.run(publishRatings);
    expect((await dueOf(provider)).at).toBeGreaterThan(Date.now());
    expect(await recordsOf(provider, cursor)).toEqual([]);
  });

  it("leaves the rating of an agent that has ended as it was", async () => {
    const { provider } = await rated();
    const revoked = await world.call("POST", `/v1/agents/${provider}/revoke`, { body: { reason: "Gone." } });
    expectStatus(revoked, 200);
    const before = await shown(provider);
    const { cursor } = await changesFrom(world, "");
    for (let n = 0; n < 3; n++) {
      world.advance(60 * DAY);
      await world.run(publishRatings);
    }
    expect(await shown(provider)).toEqual(before);
    world.offset = 0;
    expect(await recordsOf(provider, cursor)).toEqual([]);
    expect((await dueOf(provider)).at).toBeNull();
  });

  it("skips agents without a rating", async () => {
    const { did } = await world.consumer();
    expect(await dueOf(did)).toEqual({ at: null, by: "" });
    expect(await publishRatings.record(world.deps, did)).toBe(false);
  });
});

describe("a sandbox with a clock of its own", () => {
  const advance = async (reader: World, days: number) =>
    expectStatus(await reader.call("POST", "/v1/sandbox/clock/advance", { body: { seconds: days * 86_400 } }), 200);

  it("publishes what an advance has moved before it answers, after the first advance a minute later, and nothing of other platforms", async () => {
    [world, other] = [await createWorld(), await createWorld()];
    const first = await rated();
    const second = await rated();
    const rating = async (did: string) => (await shown(did)).agent_rating;
    const before = await Promise.all([first.provider, second.provider, first.consumer].map(rating));
    for (const days of [20, 25]) {
      const [earlier, , consumer] = await Promise.all([first.provider, second.provider, first.consumer].map(rating));
      await advance(world, days);
      if (days === 20) await world.serve(() => sweepSandboxes.record(world.deps, world.platformId));
      expect(await rating(first.provider)).toBeLessThan(earlier);
      expect(await rating(second.provider)).toBeLessThan(Number(before[1]));
      expect(await rating(first.consumer)).toBe(consumer);
    }
    expect((await dueOf(first.provider)).by).toBe(world.platformId);
    expect((await dueOf(first.consumer)).by).toBe("");
    // A later signal is noted on the same clock.
    const third = await rated();
    expect((await dueOf(third.provider)).by).toBe(world.platformId);
  });
});
