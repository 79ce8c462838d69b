// Specification 2.8 and contract section 6, Rating: from settlements, not reviews; bilateral; time-decayed. Pure. Sums are
// stored scaled forward (by 2^((t - origin) / half life)) instead of being decayed, so they stay valid for ever and a
// signal costs one addition, however long the history is.
import { DAY_MS, HOUR_MS } from "../core/limits.ts";
import { roundHalfEven2 } from "../core/money.ts";

/** The parameters, published at GET /v1/rating-method. */
export const RATING = {
  halfLifeDays: 90,
  /** The instant at which the forward scale is 1. */
  origin: Date.UTC(2026, 0, 1),
  /** The prior: `kappa` units of weight at `mu`. */
  kappa: 2,
  mu: 0.5,
  /** Weight of a signal: clamp(log10(1 + amount), min, max), amount in whole units. */
  weight: { min: 0.3, max: 4 },
  /** One counterparty principal holds at most max(clip, 1/n) of the unclipped weight, n being their number. */
  clip: 0.25,
  promptHours: 24,
  /** r and the factor on the weight; a null r is the task's score. */
  provider: {
    confirmed: { r: 1, factor: 1 },
    partial: { r: null, factor: 1 },
    rejected: { r: 0, factor: 1 },
    auto_confirmed: { r: 1, factor: 0.5 },
    dispute_upheld: { r: 0, factor: 3 },
  },
  consumer: {
    answered_promptly: { r: 1, factor: 1 },
    answered: { r: 0.9, factor: 1 },
    auto_confirmed: { r: 0.7, factor: 1 },
    intent_abandoned: { r: 0.3, factor: 0.25 },
    dispute_rejected: { r: 0, factor: 1 },
  },
} as const;

/** Above this share at most three can stand, and a fourth at exactly the clip: no more are ever looked at. */
export const HEAVIEST_LOOKED_AT = 4;

/** Forward-scaled sums of signals: Σ w·s and Σ w·r·s. */
export type Sums = { readonly weight: number; readonly weighted: number };
export type AgentSums = Sums & {
  readonly interactions: number;
  /** Distinct counterparty principals. */
  readonly counterparties: number;
};

/** What one side learns from one interaction: `r` in 0..1, `weight` before any decay. */
export type Signal = { readonly r: number; readonly weight: number };
export type TaskOutcome = "confirmed" | "partial" | "rejected" | "auto_confirmed";
export type ProviderCase = keyof typeof RATING.provider;
export type ConsumerCase = keyof typeof RATING.consumer;

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value));

export const signalWeight = (amountWholeUnits: number): number =>
  clamp(Math.log10(1 + amountWholeUnits), RATING.weight.min, RATING.weight.max);

/** What a signal at this instant is scaled by; `at` is epoch milliseconds. */
export const forwardScale = (at: number): number => 2 ** ((at - RATING.origin) / (RATING.halfLifeDays * DAY_MS));

export function providerSignal(which: ProviderCase, amountWholeUnits: number, score: number | null = null): Signal {
  const { r, factor } = RATING.provider[which];
  return { r: clamp(r ?? score ?? 0, 0, 1), weight: factor * signalWeight(amountWholeUnits) };
}

export function consumerSignal(which: ConsumerCase, amountWholeUnits: number): Signal {
  const { r, factor } = RATING.consumer[which];
  return { r, weight: factor * signalWeight(amountWholeUnits) };
}

/** A closed task as both sides are rated for it. An answer counts for its consumer whatever it says: honesty is free. */
export type ClosedTask = {
  readonly outcome: TaskOutcome;
  readonly score: number | null;
  readonly amountWholeUnits: number;
  readonly openedAt: number;
  readonly closedAt: number;
};

export function taskSignals(task: ClosedTask): { provider: Signal; consumer: Signal } {
  const prompt = task.closedAt - task.openedAt < RATING.promptHours * HOUR_MS;
  const answered = prompt ? "answered_promptly" : "answered";
  return {
    provider: providerSignal(task.outcome, task.amountWholeUnits, task.score),
    consumer: consumerSignal(task.outcome === "auto_confirmed" ? "auto_confirmed" : answered, task.amountWholeUnits),
  };
}

/** What a signal of that instant adds to stored sums; subtracting it later takes the signal back exactly enough. */
export function contributionOf(signal: Signal, at: number): Sums {
  const weight = signal.weight * forwardScale(at);
  return { weight, weighted: weight * signal.r };
}

/** Before this an agent is unrated; configured per environment. The other parameters are what the stored sums were made by. */
export type RatingMinimum = { readonly interactions: number; readonly counterparties: number };

/** The rating at `now`, two decimals; null before the minimum. */
export function liveRating(
  sums: AgentSums,
  heaviest: readonly Sums[],
  minimum: RatingMinimum,
  now: number,
): number | null {
  if (sums.interactions < minimum.interactions || sums.counterparties < minimum.counterparties) return null;
  const clipped = clipHeaviest(sums, heaviest);
  const scale = forwardScale(now);
  const weight = Math.max(0, clipped.weight) / scale;
  // Within the noise of floats a weighted sum lies between nothing and its weight.
  const weighted = clamp(clipped.weighted / scale, 0, weight);
  return roundHalfEven2((weighted + RATING.kappa * RATING.mu) / (weight + RATING.kappa));
}

/** Measured against the unclipped total, both sums scaled down, no iteration. */
export function clipHeaviest(sums: AgentSums, heaviest: readonly Sums[]): Sums {
  const share = Math.max(RATING.clip, 1 / Math.max(1, sums.counterparties));
  const most = share * sums.weight;
  let { weight, weighted } = sums;
  for (const one of heaviest.slice(0, HEAVIEST_LOOKED_AT)) {
    if (one.weight <= most) continue;
    const surplus = 1 - most / one.weight;
    weight -= one.weight * surplus;
    weighted -= one.weighted * surplus;
  }
  return { weight, weighted };
}
