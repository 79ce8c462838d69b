// Adds a signal to an agent's sums and to those of its counterparty: four numbers and one row, whatever the history (TSK-15).
import type { Database, Statement } from "../db/batch.ts";
import type { CounterpartyRow } from "../db/tables/agents.ts";
import type { RatingMethod } from "./method.ts";
import { type AgentSums, clippable, contributionOf, liveRating, type Signal, type Sums } from "./rating.ts";
import { putCounterparty, type RatedAgent, type RatingColumns } from "./store.ts";

export type SignalChange = {
  readonly counterpartyPrincipalId: string;
  /** The rows of findCounterparty and findHeaviestOf, read in the trip that read the agent. */
  readonly counterparty: CounterpartyRow | null;
  readonly heaviest: readonly CounterpartyRow[];
  readonly by: RatingMethod;
  /** The new signal, and the instant from which it is decayed. */
  readonly add: Signal;
  readonly at: number;
  /** The signal that it replaces (a verdict replaces the task's), which adds no interaction. */
  readonly replaces?: { readonly signal: Signal; readonly at: number };
  /** False for a signal without a closed task: it has weight and is not counted. */
  readonly interaction?: false;
  readonly now: number;
};

/** Returns the columns of the agent's row, for its guarded update, and the statement for its counterparty's sums. */
export function addSignal(
  db: Database,
  agent: RatedAgent,
  change: SignalChange,
): { columns: RatingColumns; statements: Statement[] } {
  const { did, environment } = agent;
  const { counterpartyPrincipalId, counterparty, replaces, by, now } = change;
  const added = contributionOf(by, change.add, change.at);
  const taken = replaces ? contributionOf(by, replaces.signal, replaces.at) : { weight: 0, weighted: 0 };
  const join = (sums: Sums): Sums => ({
    weight: Math.max(0, sums.weight - taken.weight + added.weight),
    weighted: Math.max(0, sums.weighted - taken.weighted + added.weighted),
  });
  const row = { did, environment, counterpartyPrincipalId, ...join(counterparty ?? { weight: 0, weighted: 0 }) };
  const own = join({ weight: agent.ratingWeight, weighted: agent.ratingWeighted });
  const interactions = agent.ratingInteractions + (replaces || change.interaction === false ? 0 : 1);
  const counterparties = agent.ratingCounterparties + (counterparty ? 0 : 1);
  const others = change.heaviest.filter((one) => one.counterpartyPrincipalId !== counterpartyPrincipalId);
  const heaviest = [...others, row].sort((a, b) => b.weight - a.weight);
  const sums = { ...own, interactions, counterparties };
  return {
    columns: {
      ratingWeight: own.weight,
      ratingWeighted: own.weighted,
      ratingInteractions: interactions,
      ratingCounterparties: counterparties,
      agentRating: liveRating(sums, heaviest, by, now),
      ratingHeaviest: clippable(sums, heaviest),
    },
    statements: [putCounterparty(db, row)],
  };
}

type StoredSums = Pick<
  RatedAgent,
  "ratingWeight" | "ratingWeighted" | "ratingInteractions" | "ratingCounterparties" | "ratingHeaviest"
>;

/** An agent's rating at an instant, from its row alone. */
export const ratingAt = (agent: StoredSums, by: RatingMethod, now: number): number | null =>
  liveRating(ratingSums(agent), agent.ratingHeaviest, by, now);

const ratingSums = (agent: StoredSums): AgentSums => ({
  weight: agent.ratingWeight,
  weighted: agent.ratingWeighted,
  interactions: agent.ratingInteractions,
  counterparties: agent.ratingCounterparties,
});
