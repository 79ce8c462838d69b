// Closes several tasks in one batch. They may share agents, so each task is closed on the rows as the tasks before it leave them.
import { applyChangedRows, type ChangedRows, pickRows } from "../agents/rated-rows.ts";
import { type Database, type ReadResults, readBatch } from "../db/batch.ts";
import { compileReads } from "../db/compiled.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { findEscrowsIn, findMarketsIn, findPublicAgents } from "../identity/store.ts";
import { findCounterpartiesIn, findHeaviestIn } from "../ratings/store.ts";
import type { ClosingFacts } from "./close.ts";
import { findTasks, pickCounterpartyPrincipals, selectRatedPairs, type TaskOfTwoClocks } from "./store.ts";

const buildReadsOfSeveral = compileReads((db, taskIds) => {
  const [sold, bought] = [selectRatedPairs(taskIds, "provider"), selectRatedPairs(taskIds, "consumer")];
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

/** Reads the facts of the tasks that exist, by id, in one trip with as many statements as for one task. */
export async function readClosingFacts(
  db: Database,
  taskIds: readonly string[],
): Promise<ReadonlyMap<string, ClosingFacts>> {
  const found = await readBatch(db, buildReadsOfSeveral(db, JSON.stringify(taskIds)));
  return new Map(found.tasks.map((task) => [task.task.taskId, pickFacts(found, task)]));
}

function pickFacts(found: ReadResults<ReturnType<typeof buildReadsOfSeveral>>, task: TaskOfTwoClocks): ClosingFacts {
  const { providerDid, consumerDid, environment } = task.task;
  const under = pickCounterpartyPrincipals(task.task);
  const isSellers = (row: Pick<EscrowRow, "did" | "environment">) =>
    row.did === providerDid && row.environment === environment;
  const sold = { heaviest: found.providersHeaviest, counterparties: found.providersCounterparties };
  const bought = { heaviest: found.consumersHeaviest, counterparties: found.consumersCounterparties };
  const sellers = pickRows({ did: providerDid, environment }, under.provider, sold);
  const buyers = pickRows({ did: consumerDid, environment }, under.consumer, bought);
  return {
    task,
    provider: found.providers.find(({ agent }) => agent.did === providerDid) ?? null,
    consumer: found.consumers.find(({ agent }) => agent.did === consumerDid) ?? null,
    markets: found.markets.filter(isSellers),
    escrows: found.escrows.filter(isSellers),
    providerHeaviest: sellers.heaviest,
    providerCounterparty: sellers.counterparty,
    consumerHeaviest: buyers.heaviest,
    consumerCounterparty: buyers.counterparty,
  };
}

/** Returns the facts as the earlier tasks of the batch leave them. */
export function applyChanges(facts: ClosingFacts, rows: ChangedRows): ClosingFacts {
  const { task, provider, consumer } = facts;
  if (!task || !provider || !consumer) return facts;
  const under = pickCounterpartyPrincipals(task.task);
  const sold = {
    ...provider,
    escrows: facts.escrows,
    counterparty: facts.providerCounterparty,
    heaviest: facts.providerHeaviest,
  };
  const bought = {
    ...consumer,
    escrows: [],
    counterparty: facts.consumerCounterparty,
    heaviest: facts.consumerHeaviest,
  };
  const seller = applyChangedRows(rows, sold, under.provider);
  const buyer = applyChangedRows(rows, bought, under.consumer);
  return {
    ...facts,
    provider: { ...provider, agent: seller.agent },
    consumer: { ...consumer, agent: buyer.agent },
    escrows: seller.escrows,
    providerCounterparty: seller.counterparty,
    providerHeaviest: seller.heaviest,
    consumerCounterparty: buyer.counterparty,
    consumerHeaviest: buyer.heaviest,
  };
}
