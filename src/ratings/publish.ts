// Describes the rating method for GET /v1/rating-method (TSK-16), and the part of it from which a rating follows (TSK-17). It reads no database.
import { toIso } from "../core/clock.ts";
import { computeShortHash } from "../core/short-hash.ts";
import type { Environment } from "../core/vocabulary.ts";
import { type Case, RATING_ORIGIN, type RatingMethod } from "./method.ts";
import type { RatingMethodView, RatingView } from "./responses.ts";

const toSignalViews = (cases: Readonly<Record<string, Case>>) =>
  Object.fromEntries(Object.entries(cases).map(([name, { r, factor }]) => [name, { r, weight_factor: factor }]));

export function describeMethod({ sandbox, production }: Readonly<Record<Environment, RatingMethod>>): RatingMethodView {
  // The environments differ only in their minimums.
  const { halfLifeDays, kappa, mu, weight, clip, promptHours, provider, consumer } = production;
  return {
    versions: { sandbox: computeMethodVersion(sandbox), production: computeMethodVersion(production) },
    formula: "(sum(w * r) + kappa * mu) / (sum(w) + kappa), each w decayed by 2^(-age_days / half_life_days)",
    half_life_days: halfLifeDays,
    origin: toIso(RATING_ORIGIN),
    kappa,
    mu,
    decimals: 2,
    rounding: "half_even",
    weight: { formula: "weight_factor * clamp(log10(1 + amount), min, max)", min: weight.min, max: weight.max },
    counterparty_clip: {
      formula:
        "one counterparty principal holds at most max(max_share, 1 / counterparties) of the unclipped weight; more is clipped, once",
      max_share: clip,
    },
    minimum_interactions: { sandbox: sandbox.minimum.interactions, production: production.minimum.interactions },
    minimum_counterparties: { sandbox: sandbox.minimum.counterparties, production: production.minimum.counterparties },
    prompt_answer_hours: promptHours,
    signals: { provider: toSignalViews(provider), consumer: toSignalViews(consumer) },
  };
}

/** Differs for each set of parameters, and is the same on every machine. */
const computeMethodVersion = (method: RatingMethod): string =>
  computeShortHash(JSON.stringify([RATING_ORIGIN, method]))
    .toString(36)
    .padStart(11, "0");

/** The part of a method from which a rating follows, given its sums. */
export const toUsedMethod = (method: RatingMethod): RatingView["method"] => ({
  version: computeMethodVersion(method),
  origin: toIso(RATING_ORIGIN),
  half_life_days: method.halfLifeDays,
  kappa: method.kappa,
  mu: method.mu,
  max_share: method.clip,
  minimum_interactions: method.minimum.interactions,
  minimum_counterparties: method.minimum.counterparties,
});
