// SQL for the rating columns of an agent, used by the statements of agents/store.ts. Many calls rate one agent at the same time, so a signal is
// added to the stored sums (AGT-28).
import { and, eq, type SQL, sql } from "drizzle-orm";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { toEscrowStates } from "../escrow/states.ts";
import { CLIP_MIN } from "../ratings/method.ts";
import { FIXED_SHARE_FROM, forwardScale } from "../ratings/rating.ts";
import type { AddedSums, RatingColumns } from "../ratings/store.ts";

/** When decay will next move the rating (TSK-23), and on whose clock: the platform's id for a moved sandbox clock, otherwise empty. */
export const toRepublishColumns = (republishAt: number | null): { republishAt: number | null; republishBy: SQL } => ({
  republishAt,
  republishBy: sql`case when ${agents.environment} = 'sandbox' and
    (select clock_offset_ms from platforms where platforms.platform_id = ${agents.platformId}) <> 0 then ${agents.platformId} else '' end`,
});

/** The payment of a closed task, in base units of its currency. */
export type Volume = { readonly currency: string; readonly units: number };

export type RatingSet = RatingColumns & {
  readonly updatedAt?: number | undefined;
  readonly turned: readonly EscrowRow[];
  /** Added to the settled volumes. */
  readonly volume?: Volume | undefined;
  /** When decay will next move the rating (TSK-23); undefined leaves it as it is. */
  readonly republishAt?: number | null | undefined;
};

type Was = Pick<AgentRow, "environment" | "agentRating" | "ratingInteractions" | "ratingWeight" | "ratingWeighted">;

/** The values of an update, named like its placeholders; undefined for values that are not given. */
export const toRatingValues = (before: AgentRow, set: RatingSet, added: AddedSums | null) => ({
  did: before.did,
  environment: before.environment,
  published: before.agentRating,
  agentRating: set.agentRating,
  updatedAt: set.updatedAt,
  republishAt: set.republishAt,
  states: set.turned.length > 0 ? JSON.stringify(toEscrowStates(set.turned)) : undefined,
  currency: set.volume?.currency,
  currencyPath: set.volume && `$.${set.volume.currency}`,
  units: set.volume?.units,
  ...(added ? toRelativeValues(set, added) : toAbsoluteValues(before, set)),
});

const toAbsoluteValues = (before: AgentRow, set: RatingSet) => ({
  absolute: true as const,
  wasInteractions: before.ratingInteractions,
  wasWeight: before.ratingWeight,
  wasWeighted: before.ratingWeighted,
  weight: set.ratingWeight,
  weighted: set.ratingWeighted,
  interactions: set.ratingInteractions,
  counterparties: set.ratingCounterparties,
  heaviest: set.ratingHeaviest,
});
type Absolute = ReturnType<typeof toAbsoluteValues>;

const toRelativeValues = ({ agentRating }: RatingSet, { by, now, ...added }: AddedSums) => ({
  absolute: undefined,
  ...added,
  scale: forwardScale(by, now),
  pull: by.kappa,
  pulled: by.kappa * by.mu,
  fewestInteractions: by.minimum.interactions,
  fewestCounterparties: by.minimum.counterparties,
  unrated: agentRating === null ? true : undefined,
});
type Relative = ReturnType<typeof toRelativeValues>;

type RatingValues = ReturnType<typeof toRatingValues>;

/** The columns of an update, from its values or from their placeholders. */
export const toRatingColumns = (values: RatingValues) => ({
  agentRating: values.agentRating,
  ...(values.absolute ? replaceSums(values) : addToSums(values)),
  ...(values.updatedAt !== undefined && { updatedAt: values.updatedAt }),
  ...(values.republishAt !== undefined && toRepublishColumns(values.republishAt)),
  ...(values.states !== undefined && { escrowStates: sql`json_patch(${agents.escrowStates}, ${values.states})` }),
  ...(values.units !== undefined && { settledVolumes: addToVolumes(values) }),
});

/** Holds if the row is as it was read or, for a relative update, if adding the signal still results in the same rating. */
export const mayStoreRating = (values: RatingValues): SQL | undefined =>
  values.absolute ? isUnchangedRating(toEarlierRating(values)) : resultsInRating(values);

const toEarlierRating = (values: RatingValues & { absolute: true }): Was => ({
  environment: values.environment,
  agentRating: values.published,
  ratingInteractions: values.wasInteractions,
  ratingWeight: values.wasWeight,
  ratingWeighted: values.wasWeighted,
});

const replaceSums = ({ weight, weighted, interactions, counterparties, heaviest }: Absolute) => ({
  ratingWeight: weight,
  ratingWeighted: weighted,
  ratingInteractions: interactions,
  ratingCounterparties: counterparties,
  ratingHeaviest: heaviest,
});

/** Added in SQL, because concurrent batches add to the volumes of one agent. */
const addToVolumes = ({ currency, currencyPath, units }: RatingValues): SQL => {
  const volumes = agents.settledVolumes;
  return sql`json_set(${volumes}, ${currencyPath}, coalesce(${volumes} ->> ${currency}, 0) + cast(${units} as integer))`;
};

const isInEnvironment = ({ environment }: Pick<Was, "environment">): SQL => eq(agents.environment, environment);
const isPublished = (agentRating: number | null): SQL => sql`${agents.agentRating} is ${agentRating}`;

export const isUnchangedRating = (before: Was): SQL | undefined =>
  and(
    isInEnvironment(before),
    eq(agents.ratingInteractions, before.ratingInteractions),
    eq(agents.ratingWeight, before.ratingWeight),
    eq(agents.ratingWeighted, before.ratingWeighted),
    isPublished(before.agentRating),
  );

/** Adds the signal to the stored sums. No counterparty is clipped here, so the clipped ones stay as they are stored. */
const addToSums = ({ weight, weighted, interactions, counterparties }: Relative) => ({
  ratingWeight: sql`(${agents.ratingWeight} + ${weight})`,
  ratingWeighted: sql`(${agents.ratingWeighted} + ${weighted})`,
  ratingInteractions: sql`(${agents.ratingInteractions} + ${interactions})`,
  ratingCounterparties: sql`(${agents.ratingCounterparties} + ${counterparties})`,
});

/** Half a hundredth, plus the error of floats. A tie within it may be rounded either way. */
const ROUNDED = 0.005 + 1e-11;

/**
 * Holds if the stored sums plus the signal result in the rating that this update publishes, and clip no counterparty. Other signals may then
 * have been added since the row was read.
 */
function resultsInRating(values: RatingValues & { absolute: undefined }): SQL | undefined {
  const { pull, pulled, scale, counterpartyWeight, unrated } = values;
  const { ratingWeight, ratingWeighted, ratingInteractions, ratingCounterparties } = addToSums(values);
  const isRated = sql`(${ratingInteractions} >= ${values.fewestInteractions} and ${ratingCounterparties} >= ${values.fewestCounterparties})`;
  const unrounded = sql`(${ratingWeighted} / ${scale} + ${pulled}) / (${ratingWeight} / ${scale} + ${pull})`;
  return and(
    isInEnvironment(values),
    isPublished(values.published),
    unrated ? sql`not ${isRated}` : sql`${isRated} and abs(${unrounded} - ${values.agentRating}) <= ${ROUNDED}`,
    sql`${agents.ratingHeaviest} = '[]' and ${ratingCounterparties} >= ${FIXED_SHARE_FROM}`,
    sql`${counterpartyWeight} <= ${CLIP_MIN} * ${ratingWeight}`,
  );
}
