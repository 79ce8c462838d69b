// Ratings and their method on the wire (TSK-16).
import * as z from "zod";
import { did, fraction, instant } from "../http/schemas.ts";

export const ratedParams = z.object({ did: did });

export const ratingView = z
  .object({
    did,
    agent_rating: fraction.nullable(),
    interactions: z.number().int(),
    counterparties: z.number().int(),
    as_of: instant,
  })
  .register(z.globalRegistry, { id: "AgentRating" });

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
