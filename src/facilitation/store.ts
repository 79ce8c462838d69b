// Store of facilitated settlements. (network, transaction, log index) is unique, and an intent is settled once, so no payment counts twice (FAC-9).
import { and, asc, eq, getTableColumns, or, type SQL, sql } from "drizzle-orm";
import type { AskedRows, FoundRows } from "../core/page.ts";
import { type Environment, SIDES, type Side, type TransactionStatus } from "../core/vocabulary.ts";
import {
  aliasColumns,
  type Database,
  mustChange,
  type Read,
  read,
  readAll,
  readOne,
  type Statement,
} from "../db/batch.ts";
import { selectClockOffset, selectConsumersOffset, type Timed } from "../db/clock.ts";
import { compileInsert, compileOnce, type RowOf } from "../db/compiled.ts";
import { eachOf } from "../db/lists.ts";
import { isBelow, readRanged, selectBareColumns } from "../db/pages.ts";
import { type AccountFilter, buildAccountRanges, buildAgentRanges, SIDE_COLUMNS } from "../db/parts.ts";
import type { Tenant } from "../db/statement.ts";
import { type AgentRow, agents } from "../db/tables/agents.ts";
import { paymentIntents, receipts, type TransactionRow, transactions } from "../db/tables/money.ts";
import { type PaidIntent, paidIntentColumns, selectFromIntent } from "../intents/find-store.ts";

/** A settlement with its signed receipt. */
export type Facilitated = { readonly transaction: TransactionRow; readonly receipt: string };

const facilitatedColumns = { transaction: getTableColumns(transactions), receipt: receipts.receipt };
const hasReceipt = and(
  eq(receipts.network, transactions.network),
  eq(receipts.blockNumber, transactions.blockNumber),
  eq(receipts.transactionId, transactions.transactionId),
);
const selectFacilitated = (db: Database) =>
  db.select(facilitatedColumns).from(transactions).innerJoin(receipts, hasReceipt);

/** An intent with its settlement, if it has one, and two clocks: its consumer's platform's, which rules it (ACC-9), and its provider's platform's. */
export type IntentToSettle = Timed<PaidIntent> & { readonly settled: Facilitated | null };

const settledColumns = aliasColumns(transactions, "x");
const timedIntentColumns = { ...paidIntentColumns, clockOffsetMs: selectConsumersOffset(paymentIntents) };

const selectIntentToSettle = compileOnce((db) =>
  db
    .select({
      intent: timedIntentColumns,
      transaction: settledColumns,
      // Reads a receipt only if the intent is settled.
      receipt: sql`case when ${paymentIntents.transactionId} is not null then (select r.receipt from receipts r
          where r.network = ${transactions.network} and r.block_number = ${transactions.blockNumber}
            and r.transaction_id = ${transactions.transactionId}) end`
        .mapWith(receipts.receipt)
        .as("receipt"),
    })
    .from(paymentIntents)
    .leftJoin(transactions, eq(transactions.transactionId, paymentIntents.transactionId))
    .where(sql`${paymentIntents.intentId} = ${sql.placeholder("intentId")}`),
);
export const findIntentToSettle = (db: Database, intentId: string): Read<IntentToSettle | null> =>
  read(selectIntentToSettle(db, { intentId }), ([row]: RowOf<typeof selectIntentToSettle>[]) => {
    if (!row) return null;
    const { intent, transaction, receipt } = row;
    return { ...intent, settled: intent.transactionId === null ? null : { transaction, receipt } };
  });

/** A reversed settlement no longer counts. Literal text, so that SQLite uses the partial index. */
const IS_NOT_REVERSED = sql`reversed_at is null`;

const isOfTransaction = (network: string, txHash: string) =>
  and(eq(transactions.network, network), eq(transactions.txHash, txHash), IS_NOT_REVERSED);

/** The facilitated settlements of one on-chain transaction (FAC-9). One range for each network: SQLite reads the list of an `in` as rows too. */
export const findUsedSettlements = (
  db: Database,
  txHash: string,
  networks: readonly string[],
): Read<{ network: string; logIndex: number }[]> =>
  readAll(
    db
      .select({ network: transactions.network, logIndex: transactions.logIndex })
      .from(transactions)
      .where(networks.length === 0 ? sql`false` : or(...networks.map((network) => isOfTransaction(network, txHash)))),
  );

/** Finds the ones of these settlements that were facilitated. */
export const findFacilitatedAmong = (
  db: Database,
  network: string,
  settlements: readonly { readonly txHash: string; readonly logIndex: number }[],
): Read<{ txHash: string; logIndex: number }[]> => {
  const wanted = settlements.map(({ txHash, logIndex }) => [txHash, logIndex]);
  return readAll(
    db
      .select({ txHash: transactions.txHash, logIndex: transactions.logIndex })
      .from(sql`${eachOf(wanted)} k`)
      .crossJoin(transactions)
      .where(
        sql`${transactions.network} = ${network} and ${transactions.txHash} = k.value ->> 0 and ${transactions.logIndex} = k.value ->> 1
          and ${IS_NOT_REVERSED}`,
      ),
  );
};

/** The first settlement of an on-chain transaction that was facilitated for a pair. */
export const findFacilitatedPair = (
  db: Database,
  txHash: string,
  network: string,
  { consumerDid, providerDid }: { readonly consumerDid: string; readonly providerDid: string },
): Read<Facilitated | null> =>
  readOne(
    selectFacilitated(db)
      .where(
        and(
          isOfTransaction(network, txHash),
          eq(transactions.providerDid, providerDid),
          eq(transactions.consumerDid, consumerDid),
        ),
      )
      .orderBy(asc(transactions.logIndex))
      .limit(1),
  );

const insertTransaction = compileInsert((db) => db.insert(transactions));
const insertReceipt = compileInsert((db) => db.insert(receipts));

export const insertFacilitated = (db: Database, { transaction, receipt }: Facilitated): Statement[] => [
  insertTransaction(db, transaction),
  insertReceipt(db, {
    network: transaction.network,
    blockNumber: transaction.blockNumber,
    transactionId: transaction.transactionId,
    receipt,
  }),
];

export const findTransaction = (db: Database, transactionId: string | SQL<string>): Read<TransactionRow | null> =>
  readOne(db.select().from(transactions).where(eq(transactions.transactionId, transactionId)));

export const findReceiptOf = (db: Database, transactionId: string | SQL<string>): Read<string | null> =>
  read(
    db
      .select({ receipt: receipts.receipt })
      .from(transactions)
      .innerJoin(receipts, hasReceipt)
      .where(eq(transactions.transactionId, transactionId)),
    ([row]) => row?.receipt ?? null,
  );

/** Aborts the batch if the transaction was reversed meanwhile. */
export const reverseTransaction = (db: Database, { transactionId }: TransactionRow, now: number): Statement[] =>
  mustChange(
    db,
    db
      .update(transactions)
      .set({ reversedAt: now })
      .where(and(eq(transactions.transactionId, transactionId), IS_NOT_REVERSED)),
  );

/** Counts the whole escrow of a transaction from now on. */
export const countWholeEscrow = (db: Database, { transactionId, uncounted }: TransactionRow): Statement[] =>
  mustChange(
    db,
    db
      .update(transactions)
      .set({ uncounted: 0 })
      .where(
        and(eq(transactions.transactionId, transactionId), eq(transactions.uncounted, uncounted), IS_NOT_REVERSED),
      ),
  );

/** The columns of the consumer that facilitation reads. */
export type Buyer = Pick<AgentRow, "did" | "environment" | "principalId">;
const buyerColumns = { did: agents.did, environment: agents.environment, principalId: agents.principalId };

const selectBuyerOfIntent = compileOnce((db) =>
  db
    .select(buyerColumns)
    .from(agents)
    .where(eq(agents.did, selectFromIntent(sql.placeholder("intentId")).consumerDid)),
);
export const findBuyerOf = (db: Database, intentId: string): Read<Buyer | null> =>
  readOne(selectBuyerOfIntent(db, { intentId }));

/** Finds the consumer with the clock of its platform, which rules its intents (ACC-9). */
export const findTimedBuyer = (db: Database, did: string): Read<Timed<Buyer> | null> =>
  readOne(
    db
      .select({ ...buyerColumns, clockOffsetMs: selectClockOffset(agents) })
      .from(agents)
      .where(eq(agents.did, did)),
  );

// ---- Lists -----------------------------------------------------------------------------------------------------------------

// Each list merges ranges of the indexes of both sides.
const TABLE = sql`transactions`;
const AT = sql`settled_at`;
const ID = sql`transaction_id`;
const transactionColumns = selectBareColumns(transactions);

const readTransactions = (db: Database, from: readonly SQL[], limit: number): Read<FoundRows<TransactionRow>> =>
  readRanged(
    db,
    { ranges: { columns: transactionColumns, from, order: sql`settled_at desc, transaction_id desc` } },
    limit,
  );

/** Lists an agent's transactions in an environment, newest first (AGT-37). */
export const listTransactions = (
  db: Database,
  { did, environment }: { readonly did: string; readonly environment: Environment },
  { limit, after }: AskedRows,
): Read<FoundRows<TransactionRow>> =>
  readTransactions(db, buildAgentRanges({ table: TABLE, environment }, did, SIDES, isBelow(AT, ID, after)), limit);

export type TransactionFilter = AccountFilter & {
  readonly status?: TransactionStatus | undefined;
  /** Epoch milliseconds: `since` is inclusive, `until` exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
};

/** Lists the transactions of an account in an environment, newest first (FAC-19). A transaction between two of its agents is listed once. */
export const listAccountTransactions = (
  db: Database,
  tenant: Tenant,
  { since, until, status, ...whose }: TransactionFilter,
  { limit, after }: AskedRows,
): Read<FoundRows<TransactionRow>> => {
  const by = until === undefined ? undefined : until - 1;
  const bounds = and(since === undefined ? undefined : sql`${AT} >= ${since}`, isBelow(AT, ID, after, by));
  if (status === "reversed") return readTransactions(db, buildReversedRanges(tenant, whose, bounds), limit);
  const among = status === undefined ? bounds : and(bounds, IS_NOT_REVERSED);
  return readTransactions(db, buildAccountRanges(TABLE, tenant, whose, among), limit);
};

/** Reversed transactions are rare, and have an index for each side (FAC-18). An agent's are filtered out of its account's. */
function buildReversedRanges(
  { platformId, environment }: Tenant,
  { did, role }: AccountFilter,
  bounds: SQL | undefined,
): SQL[] {
  const isSide = (side: Side) =>
    sql`${PLATFORM_COLUMNS[side]} = ${platformId}${did === undefined ? sql`` : sql` and ${SIDE_COLUMNS[side]} = ${did}`}`;
  // A transaction between two agents of the account is in both ranges.
  const either = sql`(${isSide("provider")} or ${isSide("consumer")})`;
  return SIDES.filter((side) => role === undefined || role === side).map((side) => {
    const once = role === undefined && side === "consumer" ? sql`provider_platform_id <> ${platformId}` : undefined;
    // Literal text, so that SQLite uses the partial index.
    const own = sql`${PLATFORM_COLUMNS[side]} = ${platformId} and environment = ${environment} and reversed_at is not null`;
    return sql`transactions where ${and(own, role === undefined ? either : isSide(side), once, bounds)}`;
  });
}

const PLATFORM_COLUMNS = {
  provider: sql`provider_platform_id`,
  consumer: sql`consumer_platform_id`,
} as const satisfies Record<Side, SQL>;
