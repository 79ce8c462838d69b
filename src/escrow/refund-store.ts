// Store of refunds: what was refunded for settlements, and the addresses that refunds go to, from the contract's events (CHN-25).
import { and, desc, eq, gt, type SQL, sql } from "drizzle-orm";
import type { SettlementRef } from "../chain/store.ts";
import { type Database, type Read, read, type Statement } from "../db/batch.ts";
import { eachOf, selectFields } from "../db/lists.ts";
import { type RefundAddressRow, type RefundRow, refundAddresses, refunds } from "../db/tables/disputes.ts";
import { transactions } from "../db/tables/money.ts";

/** Rows of one statement; the length of its text bounds them. */
const AT_ONCE = 200;

export const insertRefunds = (db: Database, rows: readonly RefundRow[]): Statement[] =>
  Array.from({ length: Math.ceil(rows.length / AT_ONCE) }, (_, n) => {
    const part = rows.slice(n * AT_ONCE, (n + 1) * AT_ONCE);
    const values = part.map(
      ({ network, blockNumber, txHash, logIndex, contract, settlementKey, payer, amount, minedAt }) => [
        ...[network, blockNumber, txHash, logIndex, contract, settlementKey, payer, amount, minedAt],
      ],
    );
    return db.insert(refunds).select(sql`select ${selectFields(9)} from ${eachOf(values)}`);
  });

export const insertRefundAddresses = (db: Database, rows: readonly RefundAddressRow[]): Statement[] =>
  Array.from({ length: Math.ceil(rows.length / AT_ONCE) }, (_, n) => {
    const part = rows.slice(n * AT_ONCE, (n + 1) * AT_ONCE);
    const values = part.map(({ network, blockNumber, txHash, logIndex, contract, settlementKey, refundTo }) => [
      ...[network, blockNumber, txHash, logIndex, contract, settlementKey, refundTo],
    ]);
    return db.insert(refundAddresses).select(sql`select ${selectFields(7)} from ${eachOf(values)}`);
  });

/** Deletes refunds that a reorg removed. The follower books them again if they come back. */
export const deleteRefundsAfter = (db: Database, network: string, behind: number): Statement[] => [
  db.delete(refunds).where(and(eq(refunds.network, network), gt(refunds.blockNumber, behind))),
  db.delete(refundAddresses).where(and(eq(refundAddresses.network, network), gt(refundAddresses.blockNumber, behind))),
];

/** This many addresses are tried: the newest counts, unless a reorg that was not read yet has removed it. */
const ADDRESSES_TRIED = 10;
/** The addresses that refunds of a transaction's settlement were turned to, newest first. The contract decides which one counts. */
export const findRefundAddresses = (db: Database, transactionId: SQL<string>): Read<string[]> =>
  read(
    db
      .select({ refundTo: refundAddresses.refundTo })
      .from(transactions)
      .innerJoin(
        refundAddresses,
        and(
          eq(refundAddresses.network, transactions.network),
          eq(refundAddresses.settlementKey, transactions.settlementKey),
          eq(refundAddresses.contract, transactions.contract),
        ),
      )
      .where(eq(transactions.transactionId, transactionId))
      .orderBy(desc(refundAddresses.blockNumber))
      .limit(ADDRESSES_TRIED),
    (found) => found.map(({ refundTo }) => refundTo),
  );

export const selectKeys = (keys: readonly string[]): SQL => sql`select value from ${eachOf(keys)}`;
export const selectRefundedAfter = (network: string, behind: number): SQL =>
  sql`select g.settlement_key from refunds g where g.network = ${network} and g.block_number > ${behind}`;

/** In base units. */
export const findRefundedAmount = (db: Database, { network, contract, settlementKey }: SettlementRef): Read<number> =>
  read(
    db
      .select({ amount: sql<number>`coalesce(sum(${refunds.amount}), 0)`.as("amount") })
      .from(refunds)
      .where(
        and(eq(refunds.network, network), eq(refunds.settlementKey, settlementKey), eq(refunds.contract, contract)),
      ),
    ([row]) => row?.amount ?? 0,
  );
