// The computation of docs/ratings.md, written a second time (TSK-17).
import type { Json } from "../support/world.ts";

/** Computes a rating from nothing but its public answer. */
export function computed({ sums, heaviest, method, interactions, counterparties, as_of }: Json): number | null {
  let { weight, weighted } = sums;
  const most = Math.max(method.max_share, 1 / Math.max(1, counterparties)) * weight;
  for (const one of heaviest.filter((held: Json) => held.weight > most)) {
    const surplus = 1 - most / one.weight;
    weight -= one.weight * surplus;
    weighted -= one.weighted * surplus;
  }
  const scale = 2 ** ((Date.parse(as_of) - Date.parse(method.origin)) / 86_400_000 / method.half_life_days);
  weight = Math.max(0, weight) / scale;
  weighted = Math.min(Math.max(0, weighted / scale), weight);
  if (interactions < method.minimum_interactions || counterparties < method.minimum_counterparties) return null;
  const hundredths = (100 * (weighted + method.kappa * method.mu)) / (weight + method.kappa);
  const rounded = Number(hundredths.toFixed(9));
  const [below, isTie] = [Math.floor(rounded), rounded % 1 === 0.5];
  return (isTie ? below + (below % 2) : Math.round(rounded)) / 100;
}
