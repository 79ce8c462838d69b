// Computes when decay alone moves a rating (TSK-23). Pure. Between two signals a rating only moves towards the prior, so the instant at which it
// rounds to another number follows in closed form.
import { DAY_MS, SECOND_MS } from "../core/limits.ts";
import type { RatingMethod } from "./method.ts";
import { type AgentSums, clipHeaviest, computeRating, forwardScale, type Sums } from "./rating.ts";

const HALF_STEP = 0.005;

/**
 * Returns the earliest instant after `now` (epoch milliseconds, at most a second late) at which the rating, with two decimals, differs from the one
 * at `now`. Null if it never will, and for an unrated agent.
 */
export function findNextChange(
  sums: AgentSums,
  heaviest: readonly Sums[],
  by: RatingMethod,
  now: number,
): number | null {
  const rating = computeRating(sums, heaviest, by, now);
  if (rating === null) return null;
  const { kappa, mu } = by;
  const scale = forwardScale(by, now);
  const clipped = clipHeaviest(by, sums, heaviest);
  const weight = Math.max(0, clipped.weight) / scale;
  const weighted = Math.min(weight, Math.max(0, clipped.weighted / scale));
  const apart = weighted - mu * weight;
  if (apart === 0) return null;
  // The middle between this number and the next one towards the prior: (weighted * s + kappa * mu) / (weight * s + kappa) equals it at some decay s.
  const middle = rating - Math.sign(apart) * HALF_STEP;
  const decay = (kappa * (middle - mu)) / (weighted - middle * weight);
  if (!(decay > 0 && Number.isFinite(decay))) return null;
  const at = Math.ceil(now - by.halfLifeDays * DAY_MS * Math.log2(decay));
  return skipFloatError(sums, heaviest, by, rating, Math.max(at, now + 1));
}

/** Errors of floats may delay the change, but by less than a second. */
function skipFloatError(
  sums: AgentSums,
  heaviest: readonly Sums[],
  by: RatingMethod,
  rating: number,
  at: number,
): number | null {
  return computeRating(sums, heaviest, by, at) === rating ? at + SECOND_MS : at;
}
