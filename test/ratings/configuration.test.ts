// The parameters of ratings are configuration, and published (TSK-13, TSK-16).
import { beforeAll, describe, expect, it } from "vitest";
import { checkConfiguration } from "../../src/app.ts";
import { DEFAULT_PARAMETERS, parseRatingParameters, ratingMethods } from "../../src/ratings/method.ts";
import { payOnChain } from "../support/chain.ts";
import { createWorld, env, expectStatus, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});

describe("the rating's minimums", () => {
  it("are those of TSK-13, as GET /v1/rating-method publishes them", async () => {
    const method = expectStatus(await world.call("GET", "/v1/rating-method", { key: null }), 200);
    expect(method.minimum_interactions).toEqual({ sandbox: 1, production: 10 });
    expect(method.minimum_counterparties).toEqual({ sandbox: 1, production: 2 });
  });

  it("come from the configuration", () => {
    const configured = { ...env, RATING_MIN_INTERACTIONS: "sandbox=3, production=7" };
    const { sandbox, production } = ratingMethods(configured);
    expect([sandbox.minimum.interactions, production.minimum.interactions]).toEqual([3, 7]);
  });

  it("stop the service at its start if they name no count for an environment", () => {
    expect(() => checkConfiguration({ ...env, RATING_MIN_INTERACTIONS: "sandbox=1" })).toThrow(/production/);
    const worded = { ...env, RATING_MIN_COUNTERPARTIES: "sandbox=x,production=2" };
    expect(() => checkConfiguration(worded)).toThrow(/sandbox/);
  });
});

describe("the rating's parameters", () => {
  const given = {
    half_life_days: 30,
    kappa: 4,
    mu: 0.25,
    weight: { min: 1, max: 2 },
    counterparty_clip: { max_share: 0.5 },
    prompt_answer_hours: 1,
    signals: {
      provider: {
        confirmed: { r: 0.9 },
        partial: { weight_factor: 2 },
        dispute_partially_upheld: { weight_factor: 1.5 },
      },
      consumer: { answered_promptly: { r: 0.8, weight_factor: 0.5 } },
    },
  };

  it("are the defaults of the rules if nothing is configured", () => {
    expect(parseRatingParameters("")).toEqual(DEFAULT_PARAMETERS);
    expect(parseRatingParameters('{"signals": {"provider": {}}}')).toEqual(DEFAULT_PARAMETERS);
  });

  it("are published as configured, and tasks are rated by them", async () => {
    const other = await createWorld({ RATING_PARAMETERS: JSON.stringify(given) });
    const method = expectStatus(await other.call("GET", "/v1/rating-method", { key: null }), 200);
    expect(method).toMatchObject({
      ...given,
      signals: {
        provider: {
          confirmed: { r: 0.9, weight_factor: 1 },
          partial: { r: null, weight_factor: 2 },
          dispute_partially_upheld: { r: null, weight_factor: 1.5 },
          auto_confirmed: { r: 1, weight_factor: 0.5 },
        },
        consumer: { answered_promptly: { r: 0.8, weight_factor: 0.5 }, answered: { r: 0.9, weight_factor: 1 } },
      },
    });
    const provider = await other.provider();
    const consumer = await other.consumer();
    const { intent_id } = await other.intent(consumer, provider, "2.00");
    const tx_hash = await payOnChain(consumer.did, provider.did, 2_000_000, { intentId: intent_id });
    const payment = { provider_did: provider.did, consumer_did: consumer.did, tx_hash, network: "base-sepolia" };
    const { task_id } = expectStatus(await other.as(provider, "POST", "/v1/facilitate", payment), 200);
    const path = `/v1/tasks/${task_id}/confirm`;
    const closed = expectStatus(await other.as(consumer, "POST", path, { outcome: "confirmed" }), 200);
    // Weight 1 (log10(3) is below the minimum), factor 1: (0.9 + 4 x 0.25) / 5; the consumer's factor is a half.
    expect(closed).toMatchObject({ provider_r_i: 0.9, consumer_r_i: 0.8, provider_ar: 0.38, consumer_ar: 0.31 });
  });

  it.each([
    ["{", /JSON/],
    ['{"half_life": 90}', /half_life/],
    ['{"half_life_days": 1}', /half_life_days/],
    ['{"kappa": 0}', /kappa/],
    ['{"mu": 1.5}', /mu/],
    ['{"weight": {"min": 3, "max": 2}}', /weight/],
    ['{"counterparty_clip": {"max_share": 0.2}}', /counterparty_clip.max_share/],
    ['{"signals": {"provider": {"partial": {"r": 1}}}}', /signals.provider.partial/],
    ['{"signals": {"provider": {"dispute_partially_upheld": {"r": 1}}}}', /dispute_partially_upheld/],
    ['{"signals": {"provider": {"adored": {"r": 1}}}}', /signals.provider/],
  ])("stop the service at its start with the reason if they are %s", (text, reason) => {
    expect(() => checkConfiguration({ ...env, RATING_PARAMETERS: text })).toThrow(reason);
  });
});
