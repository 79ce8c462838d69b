// The terms by which entries are found (DIR-9): each capability, each market, the role and the tier, with the environment. Pure.
import type { Environment } from "../core/vocabulary.ts";
import type { EntryRow } from "../db/tables/directory.ts";

export type Sought = {
  readonly capabilities: readonly string[];
  readonly markets: readonly string[];
  readonly economicRole?: string | undefined;
  readonly certTier?: string | undefined;
};

const toTerm = (environment: Environment, kind: string) => (value: string) => `${environment} ${kind} ${value}`;

export const listTerms = (
  environment: Environment,
  { capabilities, markets, economicRole, certTier }: Sought,
): readonly string[] => [
  ...capabilities.map(toTerm(environment, "capability")),
  ...markets.map(toTerm(environment, "market")),
  ...(economicRole === undefined ? [] : [toTerm(environment, "role")(economicRole)]),
  ...(certTier === undefined ? [] : [toTerm(environment, "tier")(certTier)]),
];

type IndexedEntry = Pick<EntryRow, "environment" | keyof Sought>;
export const listEntryTerms = (entry: IndexedEntry): readonly string[] => listTerms(entry.environment, entry);
