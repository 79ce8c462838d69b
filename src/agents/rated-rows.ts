// Several signals in one batch may rate the same agent: each is counted on the rows as the earlier signals left them.
import type { AgentRow, CounterpartyRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";

/** Keyed by the DID of the agent. */
export type ChangedRows = {
  readonly agents: Map<string, AgentRow>;
  readonly escrows: Map<string, readonly EscrowRow[]>;
  readonly counterparties: Map<string, readonly CounterpartyRow[]>;
};

export const createChangedRows = (): ChangedRows => ({
  agents: new Map(),
  escrows: new Map(),
  counterparties: new Map(),
});

export type RatedRows = {
  readonly agent: AgentRow;
  readonly escrows: readonly EscrowRow[];
  readonly counterparty: CounterpartyRow | null;
  readonly heaviest: readonly CounterpartyRow[];
};

/** Replaces rows that were read by those that earlier signals changed. `under`: the principal of the counterparty. */
export function applyChangedRows<T extends RatedRows>(
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

export function addChangedRows(
  { agents, escrows, counterparties }: ChangedRows,
  after: Omit<RatedRows, "heaviest" | "counterparty"> & { readonly counterparty: CounterpartyRow },
): void {
  const { did } = after.agent;
  agents.set(did, after.agent);
  // A buyer is rated without escrows: the empty list must not replace the escrows of its sales.
  if (after.escrows.length > 0) escrows.set(did, after.escrows);
  counterparties.set(did, joinRows([after.counterparty], counterparties.get(did) ?? []));
}

type Owned = { readonly did: string; readonly environment: string };

/** Picks an agent's rows out of those of the whole batch. A row is read once per signal, so repetitions are removed. */
export function pickRows(
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

const joinRows = (changed: readonly CounterpartyRow[], others: readonly CounterpartyRow[]): CounterpartyRow[] => [
  ...changed,
  ...others.filter((row) => !findRow(changed, row.counterpartyPrincipalId)),
];
