// The terms by which entries are found (DIR-9): each capability, each market, the role and the tier, with the environment. Pure.
import type { Environment } from "../core/vocabulary.ts";
import type { EntryRow } from "../db/tables/directory.ts";

export type Sought = {
  readonly capabilities: readonly string[];
  readonly markets: readonly string[];
  readonly economicRole?: string | undefined;
  readonly certTier?: string | undefined;
};

const of = (environment: Environment, kind: string) => (value: string) => `${environment} ${kind} ${value}`;

export const termsOf = (
  environment: Environment,
  { capabilities, markets, economicRole, certTier }: Sought,
): readonly string[] => [
  ...capabilities.map(of(environment, "capability")),
  ...markets.map(of(environment, "market")),
  ...(economicRole === undefined ? [] : [of(environment, "role")(economicRole)]),
  ...(certTier === undefined ? [] : [of(environment, "tier")(certTier)]),
];

type Known = Pick<EntryRow, "environment" | keyof Sought>;
export const termsOfEntry = (entry: Known): readonly string[] => termsOf(entry.environment, entry);
