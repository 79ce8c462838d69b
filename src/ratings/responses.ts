// Responses about ratings and their method.
import * as z from "zod";
import { did, fraction, instant } from "../http/schemas.ts";

const buildSumsMembers = () => ({ weight: z.number(), weighted: z.number() });

export const ratingView = z
  .object({
    did,
    agent_rating: fraction.nullable(),
    interactions: z.number().int(),
    counterparties: z.number().int(),
    sums: z.object(buildSumsMembers()),
    heaviest: z.array(
      z
        .object({ position: z.number().int(), ...buildSumsMembers() })
        .register(z.globalRegistry, { id: "RatingCounterparty" }),
    ),
    method: z
      .object({
        version: z.string(),
        origin: instant,
        half_life_days: z.number(),
        kappa: z.number(),
        mu: z.number(),
        max_share: z.number(),
        minimum_interactions: z.number().int(),
        minimum_counterparties: z.number().int(),
      })
      .register(z.globalRegistry, { id: "RatingMethodUsed" }),
    as_of: instant,
  })
  .register(z.globalRegistry, { id: "AgentRating" });

export type RatingView = z.infer<typeof ratingView>;

const signal = z
  .object({
    r: z.number().nullable(),
    weight_factor: z.number(),
  })
  .register(z.globalRegistry, { id: "RatingSignal" });

const signals = z.record(z.string(), signal).register(z.globalRegistry, { id: "RatingSignals" });

const minimum = z
  .object({ sandbox: z.number().int(), production: z.number().int() })
  .register(z.globalRegistry, { id: "RatingMinimum" });

export const ratingMethodView = z
  .object({
    versions: z
      .object({ sandbox: z.string(), production: z.string() })
      .register(z.globalRegistry, { id: "RatingMethodVersions" }),
    formula: z.string(),
    half_life_days: z.number(),
    origin: instant,
    kappa: z.number(),
    mu: z.number(),
    decimals: z.number().int(),
    rounding: z.string(),
    weight: z.object({ formula: z.string(), min: z.number(), max: z.number() }),
    counterparty_clip: z.object({ formula: z.string(), max_share: z.number() }),
    minimum_interactions: minimum,
    minimum_counterparties: minimum,
    prompt_answer_hours: z.number(),
    signals: z.object({ provider: signals, consumer: signals }),
  })
  .register(z.globalRegistry, { id: "RatingMethod" });

export type RatingMethodView = z.infer<typeof ratingMethodView>;
