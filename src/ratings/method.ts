// The parameters of the rating, published at GET /v1/rating-method (TSK-7 to TSK-16). RATING_PARAMETERS overrides the defaults of this file.
import * as z from "zod";
import type { Env } from "../context.ts";
import { memoizeBy } from "../core/retry.ts";
import { splitList } from "../core/text.ts";
import type { Environment } from "../core/vocabulary.ts";

export type RatingParameters = {
  readonly halfLifeDays: number;
  /** The prior: `kappa` units of weight at `mu`. */
  readonly kappa: number;
  readonly mu: number;
  /** Weight of a signal: clamp(log10(1 + amount), min, max), amount in whole units. */
  readonly weight: { readonly min: number; readonly max: number };
  /** One counterparty principal holds at most max(clip, 1/n) of the unclipped weight, n being the number of principals. */
  readonly clip: number;
  readonly promptHours: number;
  /** `r`, and the factor of the weight. A null `r` is the task's score. */
  readonly provider: Cases<ProviderCase>;
  readonly consumer: Cases<ConsumerCase>;
};
export type Case = { readonly r: number | null; readonly factor: number };
export type ProviderCase =
  | "confirmed"
  | "partial"
  | "rejected"
  | "auto_confirmed"
  | "dispute_upheld"
  | "dispute_partially_upheld";
export type ConsumerCase =
  | "answered_promptly"
  | "answered"
  | "auto_confirmed"
  | "intent_abandoned"
  | "dispute_rejected";
type Cases<C extends string> = { readonly [name in C]: Case };

/** An agent below this is unrated (TSK-13). */
export type RatingMinimum = { readonly interactions: number; readonly counterparties: number };

export type RatingMethod = RatingParameters & { readonly minimum: RatingMinimum };

/** The instant at which the forward scale is 1. It cannot be configured, because every stored sum is scaled from it. */
export const RATING_ORIGIN = Date.UTC(2026, 0, 1);

/** At most three counterparties can exceed this share, and a fourth can equal it, so four are read. */
export const CLIP_MIN = 0.25;
export const HEAVIEST_LOOKED_AT = 1 / CLIP_MIN;

export const DEFAULT_PARAMETERS: RatingParameters = {
  halfLifeDays: 90,
  kappa: 2,
  mu: 0.5,
  weight: { min: 0.3, max: 4 },
  clip: CLIP_MIN,
  promptHours: 24,
  provider: {
    confirmed: { r: 1, factor: 1 },
    partial: { r: null, factor: 1 },
    rejected: { r: 0, factor: 1 },
    auto_confirmed: { r: 1, factor: 0.5 },
    dispute_upheld: { r: 0, factor: 3 },
    dispute_partially_upheld: { r: null, factor: 2 },
  },
  consumer: {
    answered_promptly: { r: 1, factor: 1 },
    answered: { r: 0.9, factor: 1 },
    auto_confirmed: { r: 0.7, factor: 1 },
    intent_abandoned: { r: 0.3, factor: 0.25 },
    dispute_rejected: { r: 0, factor: 1 },
  },
};

const share = z.number().min(0).max(1);
const factor = z.number().positive().max(100);
const caseSchema = z.strictObject({ r: share.optional(), weight_factor: factor.optional() });
const scoredCaseSchema = z.strictObject({ weight_factor: factor.optional() });

/** RATING_PARAMETERS has the names of GET /v1/rating-method, each optional. */
const schema = z.strictObject({
  // With a much shorter half-life, the forward scale would exceed the range of floats within years.
  half_life_days: z.number().min(30).max(36_500).optional(),
  kappa: z.number().positive().max(1_000).optional(),
  mu: share.optional(),
  weight: z
    .strictObject({ min: z.number().positive().max(100), max: z.number().positive().max(100) })
    .refine(({ min, max }) => min <= max, "min is at most max")
    .optional(),
  counterparty_clip: z.strictObject({ max_share: z.number().min(CLIP_MIN).max(1) }).optional(),
  prompt_answer_hours: z.number().min(0).max(72).optional(),
  signals: z
    .strictObject({
      provider: z.strictObject({
        confirmed: caseSchema.optional(),
        partial: scoredCaseSchema.optional(),
        rejected: caseSchema.optional(),
        auto_confirmed: caseSchema.optional(),
        dispute_upheld: caseSchema.optional(),
        dispute_partially_upheld: scoredCaseSchema.optional(),
      }),
      consumer: z.strictObject({
        answered_promptly: caseSchema.optional(),
        answered: caseSchema.optional(),
        auto_confirmed: caseSchema.optional(),
        intent_abandoned: caseSchema.optional(),
        dispute_rejected: caseSchema.optional(),
      }),
    })
    .partial()
    .optional(),
});

/** Throws an error that names the faulty parameter, so that the service does not start with an unintended method. */
export function parseRatingParameters(text: string): RatingParameters {
  const given = schema.safeParse(text.trim() === "" ? {} : JSON.parse(text));
  if (!given.success) {
    const [issue] = given.error.issues;
    throw new Error(`RATING_PARAMETERS: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const { data } = given;
  const defaults = DEFAULT_PARAMETERS;
  return {
    halfLifeDays: data.half_life_days ?? defaults.halfLifeDays,
    kappa: data.kappa ?? defaults.kappa,
    mu: data.mu ?? defaults.mu,
    weight: data.weight ?? defaults.weight,
    clip: data.counterparty_clip?.max_share ?? defaults.clip,
    promptHours: data.prompt_answer_hours ?? defaults.promptHours,
    provider: mergeCases(defaults.provider, data.signals?.provider),
    consumer: mergeCases(defaults.consumer, data.signals?.consumer),
  };
}

type GivenCase = { readonly r?: number | undefined; readonly weight_factor?: number | undefined };
function mergeCases<C extends string>(
  defaults: Cases<C>,
  given: { readonly [name in C]?: GivenCase | undefined } = {},
): Cases<C> {
  const merged = (Object.keys(defaults) as C[]).map((name) => {
    const { r, factor } = defaults[name];
    return [name, { r: given[name]?.r ?? r, factor: given[name]?.weight_factor ?? factor }];
  });
  return Object.fromEntries(merged) as Cases<C>;
}

type RatingEnv = Pick<Env, "RATING_PARAMETERS" | "RATING_MIN_INTERACTIONS" | "RATING_MIN_COUNTERPARTIES">;

/** The methods of both environments, which differ only in their minimums. */
export const ratingMethods = memoizeBy((env: RatingEnv): Readonly<Record<Environment, RatingMethod>> => {
  const parameters = parseRatingParameters(env.RATING_PARAMETERS);
  const methodOf = (environment: Environment): RatingMethod => ({
    ...parameters,
    minimum: {
      interactions: parseMinimum(env.RATING_MIN_INTERACTIONS, environment),
      counterparties: parseMinimum(env.RATING_MIN_COUNTERPARTIES, environment),
    },
  });
  return { sandbox: methodOf("sandbox"), production: methodOf("production") };
});

export const pickRatingMethod = (env: RatingEnv, environment: Environment): RatingMethod =>
  ratingMethods(env)[environment];

function parseMinimum(text: string, environment: Environment): number {
  const counts = new Map(splitList(text).map((entry) => entry.split("=") as [string, string]));
  const count = Number(counts.get(environment));
  if (!Number.isSafeInteger(count) || count < 0) throw new Error(`no count for ${environment} in "${text}"`);
  return count;
}
