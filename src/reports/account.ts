// The lists of transactions of all agents of an account in the call's environment (FAC-19), by page or as CSV.
import { type ManagementCall, readPage } from "../call.ts";
import { hashListing, type Page, type Position, toPage } from "../core/page.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import { listAccountTransactions, type TransactionFilter } from "../facilitation/list-store.ts";
import type { TransactionView } from "../facilitation/responses.ts";
import { toTransactionView } from "../facilitation/views.ts";
import { exportAll } from "./export.ts";
import type { TransactionQuery } from "./schema.ts";

const toTransactionFilter = ({ did, role, status, since, until }: TransactionQuery): TransactionFilter => ({
  did,
  role,
  status,
  since,
  until,
});

export const toTransactionPosition = ({ settledAt, transactionId }: TransactionRow): Position => ({
  at: settledAt,
  id: transactionId,
});

export async function getTransactions(call: ManagementCall, query: TransactionQuery): Promise<Page<TransactionView>> {
  const { db, tenant, deps, environment } = call;
  const filter = toTransactionFilter(query);
  const page = await readPage(call, query, hashListing("transactions", [environment], filter));
  const { transactions } = await call.read({ transactions: listAccountTransactions(db, tenant, filter, page) });
  return toPage(transactions, page, toTransactionPosition, (transaction) =>
    toTransactionView(deps.config, transaction),
  );
}

/** Exports the transactions of at most 31 days. */
export function exportTransactions(
  call: ManagementCall,
  query: TransactionQuery,
): Promise<AsyncIterator<readonly TransactionView[]>> {
  const { db, deps } = call;
  return exportAll(call, query, {
    list: (owner, range, page) => listAccountTransactions(db, owner, { ...toTransactionFilter(query), ...range }, page),
    positionOf: toTransactionPosition,
    toView: (transaction) => toTransactionView(deps.config, transaction),
  });
}
