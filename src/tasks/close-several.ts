// Closes several tasks in one batch. They may share agents, so each task is closed on the rows as the tasks before it leave them.
import type { AgentRow, CounterpartyRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import type { Closed, ClosingFacts } from "./close.ts";
import { underWhom } from "./store.ts";

/** The rows that the tasks of a batch have changed so far. */
export type ChangedRows = {
  readonly agents: Map<string, AgentRow>;
  // By the agent that they belong to.
  readonly escrows: Map<string, readonly EscrowRow[]>;
  readonly counterparties: Map<string, readonly CounterpartyRow[]>;
};

export const noChangedRows = (): ChangedRows => ({ agents: new Map(), escrows: new Map(), counterparties: new Map() });

/** Puts the changed rows in place of those that were read. */
export function withChangedRows(facts: ClosingFacts, { agents, escrows, counterparties }: ChangedRows): ClosingFacts {
  const { task, provider, consumer, ...read } = facts;
  if (!task || !provider || !consumer) return facts;
  const under = underWhom(task.task);
  const agentOf = ({ agent }: typeof provider) => agents.get(agent.did) ?? agent;
  const rowsOf = ({ agent }: typeof provider) => counterparties.get(agent.did) ?? [];
  return {
    ...read,
    task,
    provider: { ...provider, agent: agentOf(provider) },
    consumer: { ...consumer, agent: agentOf(consumer) },
    escrows: [...(escrows.get(provider.agent.did) ?? read.escrows)],
    providerCounterparty: findRow(rowsOf(provider), under.provider) ?? read.providerCounterparty,
    consumerCounterparty: findRow(rowsOf(consumer), under.consumer) ?? read.consumerCounterparty,
    providerHeaviest: joinRows(rowsOf(provider), read.providerHeaviest),
    consumerHeaviest: joinRows(rowsOf(consumer), read.consumerHeaviest),
  };
}

/** Adds the rows that a closed task has changed. */
export function addChangedRows(rows: ChangedRows, { provider, consumer }: Closed["sides"]): void {
  const { agents, escrows, counterparties } = rows;
  if (provider) escrows.set(provider.agent.did, provider.escrows);
  for (const side of [provider, consumer]) {
    if (!side) continue;
    const { did } = side.agent;
    agents.set(did, side.agent);
    counterparties.set(did, joinRows([side.counterparty], counterparties.get(did) ?? []));
  }
}

const findRow = (rows: readonly CounterpartyRow[], principalId: string): CounterpartyRow | undefined =>
  rows.find((row) => row.counterpartyPrincipalId === principalId);

/** The changed rows, and the others without a changed one. */
const joinRows = (changed: readonly CounterpartyRow[], others: readonly CounterpartyRow[]): CounterpartyRow[] => [
  ...changed,
  ...others.filter((row) => !findRow(changed, row.counterpartyPrincipalId)),
];
