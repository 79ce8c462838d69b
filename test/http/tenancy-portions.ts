// How much of a walk over other tenants' objects a run takes.
import type { Environment } from "../../src/core/vocabulary.ts";
import { isWhole } from "../support/scale.ts";
import { ENVIRONMENTS } from "./tenancy-support.ts";

/**
 * The part of a walk that `npm test` takes: all of it for the first of each kind, of every other the least that tells a foreign object from
 * none. `npm run test:long` takes all of it for each.
 */
export function portions<T>(all: readonly T[], kindOf: (one: T) => string): { whole: (one: T) => boolean } {
  const first = new Set([...Map.groupBy(all, kindOf).values()].map(([one]) => one));
  return { whole: (one) => isWhole() || first.has(one) };
}

/** The entries for an environment: whole walks are in both, the others alternate between them. */
export const placesOf = <T>(all: readonly T[], whole: (one: T) => boolean, environment: Environment): T[] =>
  all.filter((one, at) => whole(one) || ENVIRONMENTS[at % ENVIRONMENTS.length] === environment);
