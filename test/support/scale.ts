// The size of a test run: `npm test` runs a twentieth of what `npm run test:long` runs (TEST_SCALE=whole). Every property test has one seed, so a
// failure is the same on every machine.
import { inject } from "vitest";

/** The part of a whole number that this run plays. */
export const scaled = (whole: number): number => Math.ceil(whole * inject("scale"));

export const isWhole = (): boolean => inject("scale") === 1;

/** The parameters of a property test, from the number of examples of a whole run. */
export const runs = (whole = 2_000) => ({ seed: 20_270_301, numRuns: scaled(whole) });

declare module "vitest" {
  export interface ProvidedContext {
    /** 1 is the whole size. */
    scale: number;
  }
}
