// The parameters of ratings are published (TSK-16).
import { describe, expect, it } from "vitest";
import { DEFAULT_PARAMETERS } from "../../src/ratings/method.ts";
import { createWorld, expectStatus } from "../support/world.ts";

describe("GET /v1/rating-method", () => {
  it("is public, open to any origin, and does not read the database", async () => {
    const world = await createWorld();
    world.meter.reset();
    const reply = await world.call("GET", "/v1/rating-method", { key: null });
    expect(expectStatus(reply, 200)).toMatchObject({
      half_life_days: DEFAULT_PARAMETERS.halfLifeDays,
      kappa: DEFAULT_PARAMETERS.kappa,
      mu: DEFAULT_PARAMETERS.mu,
      minimum_interactions: { sandbox: 1, production: 10 },
      minimum_counterparties: { sandbox: 1, production: 2 },
      signals: {
        provider: {
          auto_confirmed: { r: 1, weight_factor: 0.5 },
          partial: { r: null },
          dispute_upheld: { r: 0, weight_factor: 3 },
          dispute_partially_upheld: { r: null, weight_factor: 2 },
        },
      },
    });
    expect(reply.headers.get("access-control-allow-origin")).toBe("*");
    expect(world.meter.reading.trips).toBe(0);
  });
});
