// Adds a signal to an agent's sums and to those of its counterparty, or removes it: four numbers and one row, however long the history (TSK-15).
import type { Database, Statement } from "../db/batch.ts";
import type { CounterpartyRow } from "../db/tables/agents.ts";
import type { RatingMethod } from "./method.ts";
import {
  type AgentSums,
  computeRating,
  FIXED_SHARE_FROM,
  pickClippable,
  type Signal,
  type Sums,
  toContribution,
} from "./rating.ts";
import { type AddedSums, dropCounterparty, putCounterparty, type RatedAgent, type RatingColumns } from "./store.ts";

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

type StoredSums = Pick<
  RatedAgent,
  "ratingWeight" | "ratingWeighted" | "ratingInteractions" | "ratingCounterparties" | "ratingHeaviest"
>;

/** An agent's rating at an instant, from its row alone. */
export const computeRatingFromRow = (agent: StoredSums, by: RatingMethod, now: number): number | null =>
  computeRating(toAgentSums(agent), agent.ratingHeaviest, by, now);

export const toAgentSums = (agent: StoredSums): AgentSums => ({
  weight: agent.ratingWeight,
  weighted: agent.ratingWeighted,
  interactions: agent.ratingInteractions,
  counterparties: agent.ratingCounterparties,
});
