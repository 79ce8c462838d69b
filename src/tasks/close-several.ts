// Closes several tasks in one batch. They may share agents, so each task is closed on the rows as the tasks before it leave them.
import { type Database, type ReadResults, readBatch } from "../db/batch.ts";
import { compileReads } from "../db/compiled.ts";
import type { AgentRow, CounterpartyRow } from "../db/tables/agents.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { findEscrowsIn, findMarketsIn, findPublicAgents } from "../identity/store.ts";
import { findCounterpartiesIn, findHeaviestIn } from "../ratings/store.ts";
import type { Closed, ClosingFacts } from "./close.ts";
import { findTasks, ratedPairsIn, type TaskOfTwoClocks, underWhom } from "./store.ts";

const readsOf = compileReads((db, taskIds) => {
  const [sold, bought] = [ratedPairsIn(taskIds, "provider"), ratedPairsIn(taskIds, "consumer")];
  return {
    tasks: findTasks(db, taskIds),
    providers: findPublicAgents(db, sold),
    consumers: findPublicAgents(db, bought),
    markets: findMarketsIn(db, sold),
    escrows: findEscrowsIn(db, sold),
    providersHeaviest: findHeaviestIn(db, sold),
    consumersHeaviest: findHeaviestIn(db, bought),
    providersCounterparties: findCounterpartiesIn(db, sold),
    consumersCounterparties: findCounterpartiesIn(db, bought),
  };
});

/** The facts of the tasks that exist, by their ids, in one trip of as many statements as for one. */
export async function readClosingFacts(
  db: Database,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, ClosingFacts>> {
  const found = await readBatch(db, readsOf(db, JSON.stringify(taskIds)));
  return new Map(found.tasks.map((task) => [task.task.taskId, factsOf(found, task)]));
}

function factsOf(found: ReadResults<ReturnType<typeof readsOf>>, task: TaskOfTwoClocks): ClosingFacts {
  const { providerDid, consumerDid, environment } = task.task;
  const under = underWhom(task.task);
  const isOf = (did: string) => (row: Owned) => row.did === did && row.environment === environment;
  const [isSellers, isBuyers] = [isOf(providerDid), isOf(consumerDid)];
  return {
    task,
    provider: found.providers.find(({ agent }) => agent.did === providerDid) ?? null,
    consumer: found.consumers.find(({ agent }) => agent.did === consumerDid) ?? null,
    markets: found.markets.filter(isSellers),
    escrows: found.escrows.filter(isSellers),
    providerHeaviest: distinctRows(found.providersHeaviest.filter(isSellers)),
    consumerHeaviest: distinctRows(found.consumersHeaviest.filter(isBuyers)),
    providerCounterparty: findRow(found.providersCounterparties.filter(isSellers), under.provider) ?? null,
    consumerCounterparty: findRow(found.consumersCounterparties.filter(isBuyers), under.consumer) ?? null,
  };
}

type Owned = { readonly did: string; readonly environment: string };

/** Each row once: an agent of several tasks is read for each of them. */
const distinctRows = (rows: readonly CounterpartyRow[]): CounterpartyRow[] => [
  ...new Map(rows.map((row) => [row.counterpartyPrincipalId, row])).values(),
];

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
