// The parts of a purchase, for the tests of facilitation and of tasks: a pair, an intent, a payment, a facilitation.
import { eq, inArray } from "drizzle-orm";
import { agents, aids, ratingCounterparties } from "../../src/db/tables/agents.ts";
import { directoryChanges } from "../../src/db/tables/directory.ts";
import { events } from "../../src/db/tables/journal.ts";
import { escrows, paymentIntents, tasks, transactions } from "../../src/db/tables/money.ts";
import { rows } from "../promotion/support.ts";
import { payOnChain } from "../support/chain.ts";
import { type Agent, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

export type Pair = { consumer: Agent; provider: Agent };
export type Paid = Pair & { intent: Json; tx: string };

export const PATH = "/v1/facilitate";

export async function pairOf(world: World, provider?: Agent): Promise<Pair> {
  return { consumer: await world.consumer(), provider: provider ?? (await world.provider()) };
}

export async function paid(
  world: World,
  pair: Pair,
  amount = "10.00",
  options: { named?: boolean } = {},
): Promise<Paid> {
  const intent = await world.intent(pair.consumer, pair.provider, amount);
  const named = options.named === false ? {} : { intentId: intent.intent_id };
  const tx = await payOnChain(pair.consumer.did, pair.provider.did, Number(intent.amount_base_units), named);
  return { ...pair, intent, tx };
}

/** Facilitates by intent, with the consumer's headers and its proof bound to the provider (FAC-1, FAC-2). */
export async function asConsumer(world: World, { consumer, provider, intent, tx }: Paid): Promise<Reply> {
  const headers = await world.proveBound(consumer, provider.did);
  return world.call("POST", PATH, { key: null, headers, body: { intent_id: intent.intent_id, payment_tx: tx } });
}

/** Facilitates as the provider itself, naming the intent. */
export const asProvider = (world: World, { provider, intent, tx }: Paid): Promise<Reply> =>
  world.as(provider, "POST", PATH, { intent_id: intent.intent_id, payment_tx: tx });

/** Facilitates by payment, in the form of AEA/P clients (FAC-1). */
export const asClient = (
  world: World,
  { provider, consumer, tx }: Paid,
  extra: Record<string, unknown> = {},
): Promise<Reply> => {
  const body = {
    provider_did: provider.did,
    consumer_did: consumer.did,
    tx_hash: tx.replace(/^0x/, ""),
    network: "base-sepolia",
  };
  return world.as(provider, "POST", PATH, { ...body, ...extra });
};

export async function facilitated(
  world: World,
  pair?: Pair,
  amount = "10.00",
): Promise<Paid & { task: string; fac: Json }> {
  const purchase = await paid(world, pair ?? (await pairOf(world)), amount);
  const fac = expectStatus(await asProvider(world, purchase), 200);
  return { ...purchase, task: fac.task_id, fac };
}

export const confirm = (
  world: World,
  agent: Agent,
  task: string,
  body: unknown = { outcome: "confirmed" },
): Promise<Reply> => world.as(agent, "POST", `/v1/tasks/${task}/confirm`, body);

/** All rows that a facilitation or a confirmation may change. */
export async function stateOf(world: World, ...dids: string[]) {
  const { db } = world.deps;
  const [agentRows, aidRows, escrowRows, intents, settled, open, sums, outbox, feed] = await Promise.all([
    db.select().from(agents).where(inArray(agents.did, dids)),
    db.select().from(aids).where(inArray(aids.did, dids)),
    db.select().from(escrows).where(inArray(escrows.did, dids)),
    db.select().from(paymentIntents).where(inArray(paymentIntents.providerDid, dids)),
    db.select().from(transactions).where(inArray(transactions.providerDid, dids)),
    db.select().from(tasks).where(inArray(tasks.providerDid, dids)),
    db.select().from(ratingCounterparties).where(inArray(ratingCounterparties.did, dids)),
    db.select().from(events).where(eq(events.platformId, world.platformId)),
    db.select().from(directoryChanges).where(inArray(directoryChanges.did, dids)),
  ]);
  return {
    agents: agentRows,
    aids: aidRows,
    escrows: escrowRows,
    intents,
    transactions: settled,
    tasks: open,
    sums,
    events: outbox,
    feed,
  };
}

/** Expects the refusal, and that nothing changed. */
export async function refused(
  world: World,
  dids: string[],
  act: () => Promise<Reply>,
  status: number,
  code: string,
): Promise<Json> {
  const before = await stateOf(world, ...dids);
  const reply = await act();
  if (reply.status !== status || reply.body?.code !== code)
    throw new Error(`expected ${status} ${code}, got ${reply.status}: ${reply.text}`);
  const after = await stateOf(world, ...dids);
  if (JSON.stringify(after) !== JSON.stringify(before)) throw new Error(`${code} changed something`);
  return reply.body;
}

/** Dates the provider's wallets one minute earlier. A wallet counts from its own instant, and block times are whole seconds. */
export const ageWallets = (did: string) =>
  rows(
    "update agents set wallets = (select json_group_array(json_array(value ->> 0, (value ->> 1) - 60000)) from json_each(wallets)) where did = ?",
    did,
  );
