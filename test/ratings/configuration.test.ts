// Contract section 6, Rating: the minimums are configuration, and published.
import { beforeAll, describe, expect, it } from "vitest";
import { buildDeps } from "../../src/context.ts";
import { createWorld, env, expectStatus, ISSUER, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("the rating's minimums", () => {
  it("are what the contract names, as GET /v1/rating-method publishes them", async () => {
    const method = expectStatus(await world.call("GET", "/v1/rating-method", { key: null }), 200);
    expect(method.minimum_interactions).toEqual({ sandbox: 1, production: 10 });
    expect(method.minimum_counterparties).toEqual({ sandbox: 1, production: 2 });
  });

  it("come from the configuration", () => {
    const configured = { ...env, RATING_MIN_INTERACTIONS: "sandbox=3, production=7" };
    const { ratingMinimum } = buildDeps(configured, ISSUER).config;
    expect([ratingMinimum.sandbox.interactions, ratingMinimum.production.interactions]).toEqual([3, 7]);
  });

  it("that name no count for an environment stop the service at its start", () => {
    expect(() => buildDeps({ ...env, RATING_MIN_INTERACTIONS: "sandbox=1" }, ISSUER)).toThrow(/production/);
    expect(() => buildDeps({ ...env, RATING_MIN_COUNTERPARTIES: "sandbox=x,production=2" }, ISSUER)).toThrow(/sandbox/);
  });
});
