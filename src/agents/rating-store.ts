// SQL expressions for the rating columns of an agent, used by the statements of agents/store. Many calls rate one agent at the same time, so a
// signal is added to the stored sums (AGT-28).
import { and, eq, type SQL, sql } from "drizzle-orm";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import type { MovedStates } from "../escrow/store.ts";
import { CLIP_MIN } from "../ratings/method.ts";
import { FIXED_SHARE_FROM, forwardScale } from "../ratings/rating.ts";
import type { Added, RatingColumns } from "../ratings/store.ts";

type AddedVolume = { readonly settledVolumes?: SQL };

/** Added to what stands there: batches that do not know of each other add to the volumes of one agent. */
export const addedVolume = ({ currency, units }: { currency: string; units: number }): AddedVolume => {
  const volumes = agents.settledVolumes;
  const added = sql`coalesce(${volumes} ->> ${currency}, 0) + cast(${units} as integer)`;
  return { settledVolumes: sql`json_set(${volumes}, ${`$.${currency}`}, ${added})` };
};

/** When decay will move the rating (TSK-23), and on whose clock. */
export const toRepublish = (republishAt: number | null): { republishAt: number | null; republishBy: SQL } => ({
  republishAt,
  republishBy: sql`case when ${agents.environment} = 'sandbox' and
    (select clock_offset_ms from platforms where platforms.platform_id = ${agents.platformId}) <> 0 then ${agents.platformId} else '' end`,
});

type Scheduled = Partial<ReturnType<typeof toRepublish>>;

/** What a signal writes into an agent's row. */
export type RatingSet = RatingColumns & MovedStates & AddedVolume & Scheduled & { readonly updatedAt?: number };

const isIn = ({ environment }: AgentRow): SQL => eq(agents.environment, environment);
const isPublished = ({ agentRating }: AgentRow): SQL => sql`${agents.agentRating} is ${agentRating}`;

/** Holds if environment, sums and rating are as they were read. */
export const asRated = (before: AgentRow): SQL | undefined =>
  and(
    isIn(before),
    eq(agents.ratingInteractions, before.ratingInteractions),
    eq(agents.ratingWeight, before.ratingWeight),
    eq(agents.ratingWeighted, before.ratingWeighted),
    isPublished(before),
  );

const sumsWith = ({ weight, weighted, interactions, counterparties }: Added) => ({
  ratingWeight: sql`(${agents.ratingWeight} + ${weight})`,
  ratingWeighted: sql`(${agents.ratingWeighted} + ${weighted})`,
  ratingInteractions: sql`(${agents.ratingInteractions} + ${interactions})`,
  ratingCounterparties: sql`(${agents.ratingCounterparties} + ${counterparties})`,
});

/** The same columns with relative sums. No counterparty is clipped, so the clipped ones stay as they are stored. */
export const withAdded = ({ ratingHeaviest: _, ...set }: RatingSet, added: Added) => ({ ...set, ...sumsWith(added) });

/** Half a hundredth plus the error of floats. A tie within it may be rounded up or down. */
const ROUNDED = 0.005 + 1e-11;

/**
 * Holds if the stored sums plus the signal give the rating `rating` and clip no counterparty. Then other signals may have been added since the row
 * was read.
 */
export function ratingResultsIn(rating: number | null, before: AgentRow, added: Added): SQL | undefined {
  const { minimum, kappa, mu } = added.by;
  const { ratingWeight, ratingWeighted, ratingInteractions, ratingCounterparties } = sumsWith(added);
  const isRated = sql`(${ratingInteractions} >= ${minimum.interactions} and ${ratingCounterparties} >= ${minimum.counterparties})`;
  const scale = forwardScale(added.by, added.now);
  const unrounded = sql`(${ratingWeighted} / ${scale} + ${kappa * mu}) / (${ratingWeight} / ${scale} + ${kappa})`;
  return and(
    isIn(before),
    isPublished(before),
    rating === null ? sql`not ${isRated}` : sql`${isRated} and abs(${unrounded} - ${rating}) <= ${ROUNDED}`,
    sql`${agents.ratingHeaviest} = '[]' and ${ratingCounterparties} >= ${FIXED_SHARE_FROM}`,
    sql`${added.counterpartyWeight} <= ${CLIP_MIN} * ${ratingWeight}`,
  );
}
