// Contract section 6, Rating, on the wire: how it is computed, so that anyone can compute it.
import { z } from "@hono/zod-openapi";
import { instant } from "../http/schemas.ts";

const signal = z.object({
  r: z.number().nullable().openapi({ description: "Null: the task's score." }),
  weight_factor: z.number(),
});

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
    minimum_interactions: z.object({ sandbox: z.number().int(), production: z.number().int() }),
    minimum_counterparties: z.object({ sandbox: z.number().int(), production: z.number().int() }),
    prompt_answer_hours: z.number(),
    signals: z.object({ provider: z.record(z.string(), signal), consumer: z.record(z.string(), signal) }),
  })
  .openapi("RatingMethod");

export type RatingMethodView = z.infer<typeof ratingMethodView>;
