// The lists across an account: of all its agents in the environment of the call (FAC-19), a page at a time or as CSV.
import { askedPage, type ManagementCall } from "../call.ts";
import { exportedRange, slicesOf } from "../core/export.ts";
import { listingOf, type Page, type Position, toPage } from "../core/page.ts";
import { readBatch } from "../db/batch.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import { listAccountTransactions, type TransactionFilter } from "../facilitation/list-store.ts";
import type { TransactionView } from "../facilitation/schema.ts";
import { toTransactionView } from "../facilitation/views.ts";
import type { TransactionQuery } from "./schema.ts";

const filterOf = ({ did, role, status, since, until }: TransactionQuery): TransactionFilter => ({
  did,
  role,
  status,
  since,
  until,
});

export const positionOf = ({ settledAt, transactionId }: TransactionRow): Position => ({
  at: settledAt,
  id: transactionId,
});

export async function getTransactions(call: ManagementCall, query: TransactionQuery): Promise<Page<TransactionView>> {
  const { db, tenant, deps, environment } = call;
  const filter = filterOf(query);
  const page = await askedPage(call, query, listingOf("transactions", [environment], filter));
  const { transactions } = await call.read({ transactions: listAccountTransactions(db, tenant, filter, page) });
  return toPage(transactions, page, positionOf, (transaction) => toTransactionView(deps.config, transaction));
}

const EXPORT_SLICE = 500;

/** The transactions of at most 31 days, newest first, slice by slice. */
export async function exportTransactions(
  call: ManagementCall,
  query: TransactionQuery,
): Promise<AsyncIterator<readonly TransactionView[]>> {
  const { db, deps, now, environment } = call;
  const { caller } = await call.read({});
  const range = exportedRange({ from: query.since, to: query.until, cursor: query.cursor }, now, "since");
  const filter = { ...filterOf(query), since: range.from, until: range.to };
  const owner = { platformId: caller.platformId, environment };
  return slicesOf(async (after: Position | null) => {
    const page = { limit: EXPORT_SLICE, after };
    const { found } = await readBatch(db, { found: listAccountTransactions(db, owner, filter, page) });
    const rows = found.slice(0, EXPORT_SLICE);
    const last = rows.at(-1);
    return {
      rows: rows.map((transaction) => toTransactionView(deps.config, transaction)),
      next: found.length > rows.length && last ? positionOf(last) : null,
    };
  });
}
