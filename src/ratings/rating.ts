// The computation of ratings (TSK-6 to TSK-15). Pure. Sums are stored scaled forward (by 2^((t - origin) / half life)) instead of being
// decayed, so they stay valid for ever and a signal costs one addition, however long the history is.
import { DAY_MS, HOUR_MS, SECOND_MS } from "../core/limits.ts";
import { roundHalfEven2 } from "../core/text.ts";
import type { TaskOutcome, Verdict } from "../core/vocabulary.ts";
import {
  CLIP_MIN,
  type ConsumerCase,
  HEAVIEST_LOOKED_AT,
  type ProviderCase,
  RATING_ORIGIN,
  type RatingMethod,
  type RatingParameters,
} from "./method.ts";

/** Forward-scaled sums of signals: Σ w·s and Σ w·r·s. */
export type Sums = { readonly weight: number; readonly weighted: number };
export type AgentSums = Sums & {
  readonly interactions: number;
  readonly counterparties: number;
};

/** One side's signal of one interaction: `r` in 0..1, `weight` before any decay. */
export type Signal = { readonly r: number; readonly weight: number };
export type RatedOutcome = TaskOutcome | "auto_confirmed";

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

export const computeSignalWeight = ({ weight }: RatingParameters, amountWholeUnits: number): number =>
  clamp(Math.log10(1 + amountWholeUnits), weight.min, weight.max);

export const forwardScale = ({ halfLifeDays }: RatingParameters, at: number): number =>
  2 ** ((at - RATING_ORIGIN) / (halfLifeDays * DAY_MS));

export function toProviderSignal(
  by: RatingParameters,
  which: ProviderCase,
  amountWholeUnits: number,
  score: number | null | undefined = null,
): Signal {
  const { r, factor } = by.provider[which];
  return { r: clamp(r ?? score ?? 0, 0, 1), weight: factor * computeSignalWeight(by, amountWholeUnits) };
}

export function toConsumerSignal(by: RatingParameters, which: ConsumerCase, amountWholeUnits: number): Signal {
  const { r, factor } = by.consumer[which];
  return { r: r ?? 0, weight: factor * computeSignalWeight(by, amountWholeUnits) };
}

/** A closed task as both sides are rated for it. A consumer's answer counts the same whatever it says (TSK-10). */
export type ClosedTask = {
  readonly outcome: RatedOutcome;
  readonly score: number | null;
  readonly amountWholeUnits: number;
  /** From its opening to its end, without the time that disputes have held it. */
  readonly tookMs: number;
  /** How a dispute about the task ended, if that changes its rating (DSP-14). */
  readonly verdict?: Verdict | null;
  readonly verdictScore?: number | null;
};

export function toTaskSignals(by: RatingParameters, task: ClosedTask): { provider: Signal; consumer: Signal } {
  const { outcome, amountWholeUnits: amount, verdict } = task;
  const answered = task.tookMs < by.promptHours * HOUR_MS ? "answered_promptly" : "answered";
  const asConsumer = outcome === "auto_confirmed" ? "auto_confirmed" : answered;
  return {
    provider:
      verdict === "upheld" || verdict === "partially_upheld"
        ? toProviderSignal(by, `dispute_${verdict}`, amount, task.verdictScore)
        : toProviderSignal(by, outcome, amount, task.score),
    consumer: toConsumerSignal(by, verdict === "rejected" ? "dispute_rejected" : asConsumer, amount),
  };
}

/** The amount that a signal of that instant adds to the stored sums. Subtracting it later removes the signal. */
export function toContribution(by: RatingParameters, signal: Signal, at: number): Sums {
  const weight = signal.weight * forwardScale(by, at);
  return { weight, weighted: weight * signal.r };
}

/** Null below the minimum. */
export function computeRating(
  sums: AgentSums,
  heaviest: readonly Sums[],
  by: RatingMethod,
  now: number,
): number | null {
  const rating = computeUnroundedRating(sums, heaviest, by, now);
  return rating === null ? null : roundHalfEven2(rating);
}

export function computeUnroundedRating(
  sums: AgentSums,
  heaviest: readonly Sums[],
  by: RatingMethod,
  now: number,
): number | null {
  const { minimum, kappa, mu } = by;
  if (sums.interactions < minimum.interactions || sums.counterparties < minimum.counterparties) return null;
  const { weight, weighted } = decaySums(sums, heaviest, by, now);
  return (weighted + kappa * mu) / (weight + kappa);
}

function decaySums(sums: AgentSums, heaviest: readonly Sums[], by: RatingMethod, now: number): Sums {
  const clipped = clipHeaviest(by, sums, heaviest);
  const scale = forwardScale(by, now);
  const weight = Math.max(0, clipped.weight) / scale;
  // Apart from rounding errors of floats, a weighted sum lies between zero and its weight.
  return { weight, weighted: clamp(clipped.weighted / scale, 0, weight) };
}

/** From this number of counterparties on, more of them do not lower the share that one may hold. */
export const FIXED_SHARE_FROM = 1 / CLIP_MIN;

const computeMostWeight = (clip: number, { weight, counterparties }: AgentSums): number =>
  Math.max(clip, 1 / Math.max(1, counterparties)) * weight;

/** The counterparties that a method may clip, whatever share it grants. The others change no rating. */
export const pickClippable = (sums: AgentSums, heaviest: readonly Sums[]): Sums[] =>
  heaviest
    .slice(0, HEAVIEST_LOOKED_AT)
    .filter(({ weight }) => weight > computeMostWeight(CLIP_MIN, sums))
    .map(({ weight, weighted }) => ({ weight, weighted }));

/** Clips the heaviest counterparties once, measured against the unclipped total (TSK-14). */
export function clipHeaviest({ clip }: RatingParameters, sums: AgentSums, heaviest: readonly Sums[]): Sums {
  const most = computeMostWeight(clip, sums);
  let { weight, weighted } = sums;
  for (const one of heaviest.slice(0, HEAVIEST_LOOKED_AT)) {
    if (one.weight <= most) continue;
    const surplus = 1 - most / one.weight;
    weight -= one.weight * surplus;
    weighted -= one.weighted * surplus;
  }
  return { weight, weighted };
}

// ---- The next change by decay (TSK-23) ----------------------------------------------------------------------------------

/**
 * Returns the earliest instant after `now` (epoch milliseconds, at most a second late) at which the rating, with two decimals, differs from the one
 * at `now`. Null if it never will, and for an unrated agent. Between two signals a rating only moves towards the prior, so the instant follows in
 * closed form.
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
  const { weight, weighted } = decaySums(sums, heaviest, by, now);
  const apart = weighted - mu * weight;
  if (apart === 0) return null;
  // The middle between this number and the next one towards the prior: (weighted * s + kappa * mu) / (weight * s + kappa) equals it at some decay s.
  const middle = rating - Math.sign(apart) * HALF_STEP;
  const decay = (kappa * (middle - mu)) / (weighted - middle * weight);
  if (!(decay > 0 && Number.isFinite(decay))) return null;
  const at = Math.max(Math.ceil(now - by.halfLifeDays * DAY_MS * Math.log2(decay)), now + 1);
  // Errors of floats may delay the change, but by less than a second.
  return computeRating(sums, heaviest, by, at) === rating ? at + SECOND_MS : at;
}

const HALF_STEP = 0.005;
