// Contract section 6, Rating: the parameters in the words of the wire. Nothing is read.
import { toIso } from "../core/clock.ts";
import type { Environment } from "../db/scope.ts";
import { RATING, type RatingMinimum } from "./rating.ts";
import type { RatingMethodView } from "./schema.ts";

type Cases = Readonly<Record<string, { readonly r: number | null; readonly factor: number }>>;
const signals = (cases: Cases) =>
  Object.fromEntries(Object.entries(cases).map(([name, { r, factor }]) => [name, { r, weight_factor: factor }]));

export function ratingMethod(minimum: Readonly<Record<Environment, RatingMinimum>>): RatingMethodView {
  const { halfLifeDays, origin, kappa, mu, weight, clip } = RATING;
  return {
    formula: "(sum(w * r) + kappa * mu) / (sum(w) + kappa), each w decayed by 2^(-age_days / half_life_days)",
    half_life_days: halfLifeDays,
    origin: toIso(origin),
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
    minimum_interactions: { sandbox: minimum.sandbox.interactions, production: minimum.production.interactions },
    minimum_counterparties: { sandbox: minimum.sandbox.counterparties, production: minimum.production.counterparties },
    prompt_answer_hours: RATING.promptHours,
    signals: { provider: signals(RATING.provider), consumer: signals(RATING.consumer) },
  };
}
