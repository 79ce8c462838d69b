// A plain model of ratings (TSK-6 to TSK-14): each agent's signals are a list, and its rating is computed from the whole list at each reading. It
// keeps no sums, and knows of the service only what GET /v1/rating-method publishes.
import type { Environment } from "../../src/core/vocabulary.ts";
import type { Json } from "../support/world.ts";

const DAY_MS = 86_400_000;

export type Side = "provider" | "consumer";
/** The case that is rated, by the names of the published method. `amount` is in whole units. */
export type Case = { readonly side: Side; readonly name: string; readonly amount: number; readonly score: number };
type Given = {
  readonly at: number;
  readonly r: number;
  readonly w: number;
  readonly counterparty: string;
  readonly interaction: boolean;
};

export class Model {
  /** The signals of each agent, by the names under which they were given. */
  readonly #signals = new Map<string, Map<string, Given>>();
  readonly #method: Json;
  readonly #environment: Environment;

  constructor(method: Json, environment: Environment) {
    this.#method = method;
    this.#environment = environment;
  }

  give(agent: string, name: string, what: Case, rest: Omit<Given, "r" | "w">): void {
    const given = this.#signals.get(agent) ?? new Map<string, Given>();
    this.#signals.set(agent, given.set(name, { ...this.worth(what), ...rest }));
  }

  /** Gives an interaction another worth, and changes nothing else of it. */
  replace(agent: string, name: string, what: Case): void {
    const before = this.#signals.get(agent)?.get(name);
    if (!before) throw new Error("a signal that was never given");
    this.#signals.get(agent)?.set(name, { ...before, ...this.worth(what) });
  }

  takeBack(agent: string, name: string): void {
    this.#signals.get(agent)?.delete(name);
  }

  /** The value and weight of a case before any decay. */
  worth({ side, name, amount, score }: Case): Pick<Given, "r" | "w"> {
    const { weight, signals } = this.#method;
    const { r, weight_factor } = signals[side][name];
    const size = Math.min(weight.max, Math.max(weight.min, Math.log10(1 + amount)));
    return { r: r ?? score, w: weight_factor * size };
  }

  #signalsOf(agent: string): Given[] {
    return [...(this.#signals.get(agent)?.values() ?? [])];
  }

  counts(agent: string): { interactions: number; counterparties: number } {
    const signals = this.#signalsOf(agent);
    return {
      interactions: signals.filter(({ interaction }) => interaction).length,
      counterparties: new Set(signals.map(({ counterparty }) => counterparty)).size,
    };
  }

  /** Before rounding; null below the minimum. */
  rating(agent: string, now: number): number | null {
    const { half_life_days, kappa, mu, counterparty_clip, minimum_interactions, minimum_counterparties } = this.#method;
    const { interactions, counterparties } = this.counts(agent);
    const environment = this.#environment;
    if (interactions < minimum_interactions[environment]) return null;
    if (counterparties < minimum_counterparties[environment]) return null;
    const held = new Map<string, { weight: number; weighted: number }>();
    for (const { at, r, w, counterparty } of this.#signalsOf(agent)) {
      const weight = w * 2 ** (-(now - at) / DAY_MS / half_life_days);
      const sums = held.get(counterparty) ?? { weight: 0, weighted: 0 };
      held.set(counterparty, { weight: sums.weight + weight, weighted: sums.weighted + weight * r });
    }
    const total = [...held.values()].reduce((sum, { weight }) => sum + weight, 0);
    const most = Math.max(counterparty_clip.max_share, 1 / Math.max(1, counterparties)) * total;
    let [weight, weighted] = [kappa, kappa * mu];
    for (const one of held.values()) {
      const kept = one.weight > most ? most / one.weight : 1;
      weight += one.weight * kept;
      weighted += one.weighted * kept;
    }
    return weighted / weight;
  }
}

/** The numbers of two decimals that may be published for a value: both neighbours if it is within 1e-9 of a tie. */
export function roundings(value: number): number[] {
  const [below, above] = [Math.floor(value * 100), Math.floor(value * 100) + 1];
  const rest = value * 100 - below;
  if (Math.abs(rest - 0.5) <= 1e-7) return [below / 100, above / 100];
  return [(rest < 0.5 ? below : above) / 100];
}
