// The rows that the signals of one batch have changed so far. The signals may be of the same agents, so each is counted on the rows as the signals
// before it leave them.
import type { AgentRow, CounterpartyRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";

/** By the agent that they belong to. */
export type ChangedRows = {
  readonly agents: Map<string, AgentRow>;
  readonly escrows: Map<string, readonly EscrowRow[]>;
  readonly counterparties: Map<string, readonly CounterpartyRow[]>;
};

export const noChangedRows = (): ChangedRows => ({ agents: new Map(), escrows: new Map(), counterparties: new Map() });

/** What a signal to an agent needs, under one of its counterparties. */
export type RatedRows = {
  readonly agent: AgentRow;
  readonly escrows: readonly EscrowRow[];
  readonly counterparty: CounterpartyRow | null;
  readonly heaviest: readonly CounterpartyRow[];
};

/** Puts the changed rows in place of those that were read. `under`: the principal of the counterparty. */
export function withChangedRows<T extends RatedRows>(
  { agents, escrows, counterparties }: ChangedRows,
  read: T,
  under: string,
) {
  const { did } = read.agent;
  const changed = counterparties.get(did) ?? [];
  return {
    ...read,
    agent: agents.get(did) ?? read.agent,
    escrows: [...(escrows.get(did) ?? read.escrows)],
    counterparty: findRow(changed, under) ?? read.counterparty,
    heaviest: joinRows(changed, read.heaviest),
  };
}

/** Adds the rows that a signal has changed. */
export function addChangedRows(
  { agents, escrows, counterparties }: ChangedRows,
  after: Omit<RatedRows, "heaviest" | "counterparty"> & { readonly counterparty: CounterpartyRow },
): void {
  const { did } = after.agent;
  agents.set(did, after.agent);
  // A buyer is rated without its escrows.
  if (after.escrows.length > 0) escrows.set(did, after.escrows);
  counterparties.set(did, joinRows([after.counterparty], counterparties.get(did) ?? []));
}

type Owned = { readonly did: string; readonly environment: string };

/** The rows of an agent among those of several, under one principal and the heaviest. Each once: an agent of several signals is read for each. */
export function rowsOf(
  { did, environment }: Owned,
  under: string,
  read: { readonly heaviest: readonly CounterpartyRow[]; readonly counterparties: readonly CounterpartyRow[] },
): Pick<RatedRows, "counterparty"> & { readonly heaviest: CounterpartyRow[] } {
  const isOwn = (row: Owned) => row.did === did && row.environment === environment;
  const heaviest = new Map(read.heaviest.filter(isOwn).map((row) => [row.counterpartyPrincipalId, row]));
  return {
    heaviest: [...heaviest.values()],
    counterparty: findRow(read.counterparties.filter(isOwn), under) ?? null,
  };
}

const findRow = (rows: readonly CounterpartyRow[], principalId: string): CounterpartyRow | undefined =>
  rows.find((row) => row.counterpartyPrincipalId === principalId);

/** The changed rows, and the others without a changed one. */
const joinRows = (changed: readonly CounterpartyRow[], others: readonly CounterpartyRow[]): CounterpartyRow[] => [
  ...changed,
  ...others.filter((row) => !findRow(changed, row.counterpartyPrincipalId)),
];
