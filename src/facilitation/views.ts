// Maps rows to the shapes of responses.ts, and answers whether a settlement stands. An answer is made from the rows alone, so a retry gets the first
// call's answer (FAC-13).
import type { PublicCall } from "../call.ts";
import { formatTokenUnits, requireNetwork, toCaip2 } from "../chain/networks.ts";
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { CONFIRMATION_WINDOW_HOURS, HOUR_MS } from "../core/limits.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import type { FacilitationStatusView, FacilitationView, TransactionView } from "./responses.ts";
import { type Facilitated, findTransaction } from "./store.ts";

export const toConfirmBy = (settledAt: number): number => settledAt + CONFIRMATION_WINDOW_HOURS * HOUR_MS;

export const toFacilitationView = (config: Config, { transaction, receipt }: Facilitated): FacilitationView => ({
  ...toSettlementFields(config, transaction),
  status: "settled",
  as_of_block: transaction.escrowAsOfBlock || null,
  receipt,
});

export const toTransactionStatus = ({ reversedAt }: TransactionRow): TransactionView["status"] =>
  reversedAt === null ? "settled" : "reversed";

/** The transaction for events, without the receipt (EVT-5). */
export const toTransactionView = (config: Config, row: TransactionRow): TransactionView => ({
  ...toSettlementFields(config, row),
  environment: row.environment,
  consumer_did: row.consumerDid,
  provider_did: row.providerDid,
  status: toTransactionStatus(row),
  settled_at: toIso(row.settledAt),
  reversed_at: toIsoOrNull(row.reversedAt),
});

function toSettlementFields(config: Config, row: TransactionRow) {
  const network = requireNetwork(config.networks, row.network);
  const amount = (units: number) => formatTokenUnits(network, units);
  return {
    facilitation_id: row.transactionId,
    transaction_id: row.transactionId,
    intent_id: row.intentId,
    task_id: row.taskId,
    gross_amt: amount(row.gross),
    fee_amt: amount(row.fee),
    escrow_credited: amount(row.escrow),
    operational_amt: amount(row.operational),
    currency: row.currency,
    escrow_state: row.escrowState,
    escrow_balance: amount(row.escrowBalance),
    confirm_by: row.taskId === null ? null : toIso(toConfirmBy(row.settledAt)),
    dispute_window_days: row.disputeWindowDays,
    dispute_window_closes_at: toIsoOrNull(row.disputeWindowClosesAt),
    provider_aid_version: row.providerAidVersion,
    tx_hash: row.txHash,
    network: row.network,
    caip2: toCaip2(network),
  };
}

/** Answers any caller that has the receipt (FAC-23): a receipt never expires, and a reorg may have removed its settlement. */
export async function getFacilitationStatus(call: PublicCall, facilitationId: string): Promise<FacilitationStatusView> {
  const { found } = await call.read({ found: findTransaction(call.db, facilitationId) });
  if (!found) throw new ServiceError("not_found");
  return {
    facilitation_id: found.transactionId,
    status: toTransactionStatus(found),
    reversed_at: toIsoOrNull(found.reversedAt),
  };
}
