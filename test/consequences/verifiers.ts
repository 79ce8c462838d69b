// The rows of an operator's acts on Verifiers in the table of consequences (table.ts).
import type { Cases } from "./words.ts";

const OPERATORS_OWN = { none: "an operator's act, an entry of the operators' own log: it has no platform" } as const;
const ACT = {
  tables: ["operator_entries", "verifiers"],
  activity: OPERATORS_OWN,
} as const;

export const VERIFIER_OPERATIONS: Readonly<Record<string, Cases>> = {
  registerVerifier: [{ ...ACT, when: "always" }],
  patchVerifier: [
    { ...ACT, when: "another name, other keys" },
    { ...ACT, when: "it is disabled, and has attested principals" },
  ],
};
