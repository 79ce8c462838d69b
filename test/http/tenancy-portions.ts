// How much of a walk over other tenants' objects a run takes.
import type { Environment } from "../../src/core/vocabulary.ts";
import { isWhole } from "../support/scale.ts";
import { ENVIRONMENTS } from "./tenancy-support.ts";

/**
 * The part of a walk that `npm test` takes: all of it for the first of each kind, and for every other the least that distinguishes a foreign object
 * from an unknown one. `npm run test:long` takes all of it for each.
 */
export function portions<T>(all: readonly T[], kindOf: (one: T) => string): { whole: (one: T) => boolean } {
  const first = new Set([...Map.groupBy(all, kindOf).values()].map(([one]) => one));
  return { whole: (one) => isWhole() || first.has(one) };
}

/** The entries for an environment: they alternate between the two, and `npm run test:long` takes each in both. */
export const placesOf = <T>(all: readonly T[], environment: Environment): T[] =>
  all.filter((_, at) => isWhole() || ENVIRONMENTS[at % ENVIRONMENTS.length] === environment);
