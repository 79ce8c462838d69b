// The lists of transactions of all agents of an account in the call's environment (FAC-19), by page or as CSV.
import type { ManagementCall } from "../call.ts";
import { hashListing, type Page, type Position } from "../core/page.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import { listAccountTransactions } from "../facilitation/list-store.ts";
import type { TransactionView } from "../facilitation/responses.ts";
import { toTransactionView } from "../facilitation/views.ts";
import { type AccountList, answerAccountPage, exportAll, toAccountFilter } from "./export.ts";
import type { TransactionQuery } from "./schema.ts";

export const toTransactionPosition = ({ settledAt, transactionId }: TransactionRow): Position => ({
  at: settledAt,
  id: transactionId,
});

const buildTransactionList = (
  { db, deps }: ManagementCall,
  query: TransactionQuery,
): AccountList<TransactionRow, TransactionView> => ({
  list: (owner, range, page) => listAccountTransactions(db, owner, { ...toAccountFilter(query), ...range }, page),
  positionOf: toTransactionPosition,
  toView: (transaction) => toTransactionView(deps.config, transaction),
});

export function getTransactions(call: ManagementCall, query: TransactionQuery): Promise<Page<TransactionView>> {
  const listing = hashListing("transactions", [call.environment], toAccountFilter(query));
  return answerAccountPage(call, query, listing, buildTransactionList(call, query));
}

/** Exports the transactions of at most 31 days. */
export const exportTransactions = (call: ManagementCall, query: TransactionQuery) =>
  exportAll(call, query, buildTransactionList(call, query));
