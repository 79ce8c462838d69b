// Rows → the shapes of schema.ts. An answer is made from the row alone, so a retry reads what the first call was told.
import type { Config } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { CONFIRMATION_WINDOW_HOURS, HOUR_MS } from "../core/limits.ts";
import { formatAmount } from "../core/money.ts";
import { caip2Of, findNetwork } from "../markets/networks.ts";
import type { FacilitationView, TransactionView } from "./schema.ts";
import type { TransactionRow } from "./store.ts";

export function toFacilitationView(config: Config, row: TransactionRow): FacilitationView {
  const network = findNetwork(config.networks, row.network);
  const amount = (units: number) => formatAmount(units, network?.decimals ?? 6);
  return {
    facilitation_id: row.transactionId,
    transaction_id: row.transactionId,
    intent_id: row.intentId,
    task_id: row.taskId,
    status: "settled",
    gross_amt: amount(row.gross),
    fee_amt: amount(row.fee),
    escrow_credited: amount(row.escrow),
    operational_amt: amount(row.operational),
    currency: row.currency,
    escrow_state: row.escrowState,
    escrow_balance: amount(row.escrowBalance),
    confirm_by: row.taskId === null ? null : toIso(confirmByOf(row.settledAt)),
    dispute_window_days: row.disputeWindowDays,
    dispute_window_closes_at: toIsoOrNull(row.disputeWindowClosesAt),
    provider_aid_version: row.providerAidVersion,
    tx_hash: row.txHash,
    network: row.network,
    caip2: network ? caip2Of(network) : "",
    receipt: row.receipt,
  };
}

export const confirmByOf = (settledAt: number): number => settledAt + CONFIRMATION_WINDOW_HOURS * HOUR_MS;

export const toTransactionView = (config: Config, row: TransactionRow): TransactionView => ({
  ...toFacilitationView(config, row),
  environment: row.environment as TransactionView["environment"],
  consumer_did: row.consumerDid,
  provider_did: row.providerDid,
  settled_at: toIso(row.settledAt),
});
