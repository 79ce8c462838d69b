// A rating follows from its public answer alone (TSK-17), by the computation of docs/ratings.md, which computed.ts repeats.
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { DAY_MS } from "../../src/core/limits.ts";
import { DEFAULT_PARAMETERS } from "../../src/ratings/method.ts";
import { forwardScale, pickClippable } from "../../src/ratings/rating.ts";
import { confirm, facilitated } from "../facilitation/support.ts";
import { runs } from "../support/scale.ts";
import { createWorld, env, expectStatus, type Json, type World } from "../support/world.ts";
import { computed } from "./computed.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

const ratingOf = async (did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}/rating`, { key: null }), 200);

describe("a rating", () => {
  it("follows from the answer, for both sides of purchases", async () => {
    const provider = await world.provider();
    for (const body of [{ outcome: "confirmed" }, { outcome: "rejected" }, { outcome: "partial", score: 0.35 }]) {
      const consumer = await world.consumer({ principal_id: await world.principal() });
      const { task } = await facilitated(world, { consumer, provider });
      expectStatus(await confirm(world, consumer, task, body), 200);
      for (const { did } of [consumer, provider]) {
        const answer = await ratingOf(did);
        expect(answer.agent_rating).toEqual(expect.any(Number));
        expect(computed(answer)).toBe(answer.agent_rating);
      }
    }
    const answer = await ratingOf(provider.did);
    expect(answer).toMatchObject({ interactions: 3, counterparties: 3 });
    expect(answer.heaviest[0]).toMatchObject({ position: 1 });
    expect(JSON.stringify(answer)).not.toContain("prn_");
  });

  it("follows from the answer for any sums, at any age, also where it is null", async () => {
    const { did } = await world.consumer();
    const share = fc.record({
      weight: fc.double({ min: 0, max: 40, noNaN: true }),
      r: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const history = fc.record({
      held: fc.array(share, { maxLength: 12 }),
      interactions: fc.nat(20),
      ageDays: fc.nat(900),
    });
    await fc.assert(
      fc.asyncProperty(history, async ({ held, interactions, ageDays }) => {
        const scale = forwardScale(DEFAULT_PARAMETERS, world.now() - ageDays * DAY_MS);
        const shares = held
          .map(({ weight, r }) => ({ weight: weight * scale, weighted: weight * scale * r }))
          .toSorted((one, other) => other.weight - one.weight);
        const total = (name: "weight" | "weighted") => shares.reduce((sum, one) => sum + one[name], 0);
        const sums = {
          weight: total("weight"),
          weighted: total("weighted"),
          interactions,
          counterparties: held.length,
        };
        await env.DB.prepare(
          "update agents set rating_weight = ?, rating_weighted = ?, rating_interactions = ?, rating_counterparties = ?, rating_heaviest = ? where did = ?",
        )
          .bind(sums.weight, sums.weighted, interactions, held.length, JSON.stringify(pickClippable(sums, shares)), did)
          .run();
        const answer = await ratingOf(did);
        expect(computed(answer)).toBe(answer.agent_rating);
        expect(answer.agent_rating === null).toBe(interactions < 1 || held.length < 1);
      }),
      runs(1_000),
    );
  });

  it("names the version of its method, which the published method names for each environment", async () => {
    const { versions } = expectStatus(await world.call("GET", "/v1/rating-method", { key: null }), 200);
    const { did } = await world.consumer();
    expect((await ratingOf(did)).method.version).toBe(versions.sandbox);
    expect(versions.production).not.toBe(versions.sandbox);
    const parts = ['{"kappa": 3}', '{"signals": {"provider": {"dispute_partially_upheld": {"weight_factor": 3}}}}'];
    const named = new Set(Object.values(versions));
    for (const RATING_PARAMETERS of parts) {
      const other = await createWorld({ RATING_PARAMETERS });
      const changed = expectStatus(await other.call("GET", "/v1/rating-method", { key: null }), 200).versions;
      for (const version of Object.values(changed)) named.add(version);
    }
    expect(named.size).toBe(6);
  });
});
