// Adds a signal to an agent's sums and to those of its counterparty, or removes it: four numbers and one row, however long the history (TSK-15). Reads
// an agent's rating for anyone (TSK-17), and describes the method (TSK-16).
import type { PublicCall } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { computeShortHash } from "../core/seal.ts";
import type { Environment } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import type { CounterpartyRow } from "../db/tables/agents.ts";
import { type Case, pickRatingMethod, RATING_ORIGIN, type RatingMethod } from "./method.ts";
import {
  type AgentSums,
  computeRating,
  FIXED_SHARE_FROM,
  pickClippable,
  type Signal,
  type Sums,
  toContribution,
} from "./rating.ts";
import type { RatingMethodView, RatingView } from "./responses.ts";
import {
  type AddedSums,
  dropCounterparty,
  findRatedAgent,
  putCounterparty,
  type RatedAgent,
  type RatingColumns,
} from "./store.ts";

export type SignalChange = {
  readonly counterpartyPrincipalId: string;
  /** The rows of findCounterparty and findHeaviestOf, read in the trip that read the agent. */
  readonly counterparty: CounterpartyRow | null;
  readonly heaviest: readonly CounterpartyRow[];
  readonly by: RatingMethod;
  /** The new signal, and the instant from which it is decayed. */
  readonly add: Signal;
  readonly at: number;
  /** The signal that this one replaces, which adds no interaction. A verdict replaces the task's signal. */
  readonly replaces?: { readonly signal: Signal; readonly at: number };
  /** False for a signal without a closed task: its weight counts, but not as an interaction. */
  readonly interaction?: false;
  /** True if the signal was given before and is removed now, with its weight and its interaction (FAC-18). */
  readonly takenBack?: true;
  readonly now: number;
};

/**
 * Returns the columns of the agent's row after the signal, and the statement for its counterparty's sums. Removing a signal leaves both as they were
 * before it. `added`: the signal as a difference, for an update that other calls may overtake; null if the update is valid only for the row that was
 * read.
 */
export function addSignal(
  db: Database,
  agent: RatedAgent,
  change: SignalChange,
): { columns: RatingColumns; added: AddedSums | null; counterparty: CounterpartyRow; statements: Statement[] } {
  const { did, environment } = agent;
  const { counterpartyPrincipalId, counterparty, replaces, by, now } = change;
  const sign = change.takenBack ? -1 : 1;
  const added = toContribution(by, change.add, change.at);
  const taken = replaces ? toContribution(by, replaces.signal, replaces.at) : NO_SUMS;
  const join = (sums: Sums): Sums => ({
    weight: Math.max(0, sums.weight - taken.weight + sign * added.weight),
    weighted: Math.max(0, sums.weighted - taken.weighted + sign * added.weighted),
  });
  const row = { did, environment, counterpartyPrincipalId, ...join(counterparty ?? NO_SUMS) };
  const own = join({ weight: agent.ratingWeight, weighted: agent.ratingWeighted });
  const interactions = replaces || change.interaction === false ? 0 : sign;
  // A counterparty whose only signal was removed no longer counts.
  const left = change.takenBack === true && row.weight <= added.weight * FLOAT_ERROR;
  const newcomers = left ? -1 : counterparty ? 0 : 1;
  const counterparties = agent.ratingCounterparties + newcomers;
  const others = change.heaviest.filter((one) => one.counterpartyPrincipalId !== counterpartyPrincipalId);
  const heaviest = [...others, ...(left ? [] : [row])].sort((a, b) => b.weight - a.weight);
  const sums = {
    ...(counterparties === 0 ? NO_SUMS : own),
    interactions: agent.ratingInteractions + interactions,
    counterparties,
  };
  const columns = {
    ratingWeight: sums.weight,
    ratingWeighted: sums.weighted,
    ratingInteractions: sums.interactions,
    ratingCounterparties: counterparties,
    agentRating: computeRating(sums, heaviest, by, now),
    ratingHeaviest: pickClippable(sums, heaviest),
  };
  const clips = agent.ratingHeaviest.length + columns.ratingHeaviest.length > 0;
  const onlyAdds = !replaces && !change.takenBack && !clips && counterparties >= FIXED_SHARE_FROM;
  const adds = onlyAdds
    ? { ...added, interactions, counterparties: newcomers, counterpartyWeight: row.weight, by, now }
    : null;
  return {
    columns,
    added: adds,
    counterparty: row,
    statements: left ? [dropCounterparty(db, row)] : putCounterparty(db, row, counterparty, adds !== null),
  };
}

/** A remainder up to this fraction of a removed weight is an error of floats. A signal that is 40 half-lives older is dropped with it. */
const FLOAT_ERROR = 1e-12;
const NO_SUMS: Sums = { weight: 0, weighted: 0 };

// ---- The rating of an agent ---------------------------------------------------------------------------------------------

/** The rating at this instant of the platform's clock, with all that it follows from. Counterparties have a position and no name. */
export async function getRating(call: PublicCall, did: string): Promise<RatingView> {
  const { db, deps } = call;
  const { agent } = await call.read({ agent: findRatedAgent(db, did) });
  if (!agent) throw new ServiceError("not_found");
  const now = call.now + agent.clockOffsetMs;
  const method = pickRatingMethod(deps.env, agent.environment);
  return {
    did,
    agent_rating: computeRatingFromRow(agent, method, now),
    interactions: agent.ratingInteractions,
    counterparties: agent.ratingCounterparties,
    sums: { weight: agent.ratingWeight, weighted: agent.ratingWeighted },
    heaviest: agent.ratingHeaviest.map((sums, at) => ({ position: at + 1, ...sums })),
    method: toUsedMethod(method),
    as_of: toIso(now),
  };
}

export const computeRatingFromRow = (agent: StoredSums, by: RatingMethod, now: number): number | null =>
  computeRating(toAgentSums(agent), agent.ratingHeaviest, by, now);

type StoredSums = Pick<
  RatedAgent,
  "ratingWeight" | "ratingWeighted" | "ratingInteractions" | "ratingCounterparties" | "ratingHeaviest"
>;

export const toAgentSums = (agent: StoredSums): AgentSums => ({
  weight: agent.ratingWeight,
  weighted: agent.ratingWeighted,
  interactions: agent.ratingInteractions,
  counterparties: agent.ratingCounterparties,
});

// ---- The method ---------------------------------------------------------------------------------------------------------

export function describeMethod({ sandbox, production }: Readonly<Record<Environment, RatingMethod>>): RatingMethodView {
  // The environments differ only in their minimums.
  const { halfLifeDays, kappa, mu, weight, clip, promptHours, provider, consumer } = production;
  return {
    versions: { sandbox: computeMethodVersion(sandbox), production: computeMethodVersion(production) },
    formula: "(sum(w * r) + kappa * mu) / (sum(w) + kappa), each w decayed by 2^(-age_days / half_life_days)",
    half_life_days: halfLifeDays,
    origin: toIso(RATING_ORIGIN),
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
    minimum_interactions: { sandbox: sandbox.minimum.interactions, production: production.minimum.interactions },
    minimum_counterparties: { sandbox: sandbox.minimum.counterparties, production: production.minimum.counterparties },
    prompt_answer_hours: promptHours,
    signals: { provider: toSignalViews(provider), consumer: toSignalViews(consumer) },
  };
}

const toSignalViews = (cases: Readonly<Record<string, Case>>) =>
  Object.fromEntries(Object.entries(cases).map(([name, { r, factor }]) => [name, { r, weight_factor: factor }]));

export const toUsedMethod = (method: RatingMethod): RatingView["method"] => ({
  version: computeMethodVersion(method),
  origin: toIso(RATING_ORIGIN),
  half_life_days: method.halfLifeDays,
  kappa: method.kappa,
  mu: method.mu,
  max_share: method.clip,
  minimum_interactions: method.minimum.interactions,
  minimum_counterparties: method.minimum.counterparties,
});

const computeMethodVersion = (method: RatingMethod): string =>
  computeShortHash(JSON.stringify([RATING_ORIGIN, method]))
    .toString(36)
    .padStart(11, "0");
