// Facilitated settlements as stored. (network, transaction, log index) and the intent are unique: none counts twice.
import { and, asc, eq, type SQL, sql } from "drizzle-orm";
import { type Database, type Read, readAll, readOne, type Statement } from "../db/batch.ts";
import { agentMarkets, agents, escrows, transactions } from "../db/tables.ts";

export type TransactionRow = typeof transactions.$inferSelect;

export const findTransactionOfIntent = (db: Database, intentId: string): Read<TransactionRow | null> =>
  readOne(db.select().from(transactions).where(eq(transactions.intentId, intentId)));

/** All that was facilitated of one on-chain transaction; one that pays several intents has several settlements. */
export const findTransactionsOnChain = (
  db: Database,
  txHash: string,
  network: string | SQL<string>,
): Read<TransactionRow[]> =>
  readAll(
    db
      .select()
      .from(transactions)
      .where(and(eq(transactions.network, network), eq(transactions.txHash, txHash)))
      .orderBy(asc(transactions.logIndex))
      .limit(SETTLEMENTS_LOOKED_AT),
  );

const SETTLEMENTS_LOOKED_AT = 50;

export const insertTransaction = (db: Database, row: typeof transactions.$inferInsert): Statement =>
  db.insert(transactions).values(row);

export type Buyer = Pick<typeof agents.$inferSelect, "did" | "environment" | "principalId">;

/** What facilitation asks of the consumer; nothing of it is signed anew. */
export const findBuyer = (db: Database, did: string | SQL<string>): Read<Buyer | null> =>
  readOne(
    db
      .select({ did: agents.did, environment: agents.environment, principalId: agents.principalId })
      .from(agents)
      .where(eq(agents.did, did)),
  );

/** The seller's markets and escrows in the intent's environment: one look at the intent for both columns of the key. */
export const findMarketsOfIntent = (db: Database, intentId: string): Read<(typeof agentMarkets.$inferSelect)[]> =>
  readAll(
    db
      .select()
      .from(agentMarkets)
      .where(sql`(${agentMarkets.did}, ${agentMarkets.environment}) = ${sellerOf(intentId)}`)
      .orderBy(asc(agentMarkets.market), asc(agentMarkets.network)),
  );

export const findEscrowsOfIntent = (db: Database, intentId: string): Read<(typeof escrows.$inferSelect)[]> =>
  readAll(
    db
      .select()
      .from(escrows)
      .where(sql`(${escrows.did}, ${escrows.environment}) = ${sellerOf(intentId)}`)
      .orderBy(asc(escrows.network)),
  );

const sellerOf = (intentId: string): SQL =>
  sql`(select provider_did, environment from payment_intents where intent_id = ${intentId})`;

/** What an intent names, as expressions for reads in the trip that finds the intent. */
export const ofIntent = (intentId: string) => ({
  providerDid: sql<string>`(select provider_did from payment_intents where intent_id = ${intentId})`,
  consumerDid: sql<string>`(select consumer_did from payment_intents where intent_id = ${intentId})`,
  network: sql<string>`(select network from payment_intents where intent_id = ${intentId})`,
});
