// Specification 2.6 and 4, Facilitation: all that a verified settlement changes, in one guarded batch. The unique keys of
// the transaction make a second one impossible whatever races.
import { recordEventForParties } from "../activity/store.ts";
import { writeAid } from "../agents/aid.ts";
import { type AgentWithPrincipal, type EscrowRow, type MarketRow, updateAgent } from "../agents/store.ts";
import type { AgentCall } from "../call.ts";
import type { Network, Settled } from "../chain/gateway.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { newId } from "../core/ids.ts";
import { DAY_MS, SECOND_MS } from "../core/limits.ts";
import { formatAmount } from "../core/money.ts";
import { credited, differs } from "../escrow/changes.ts";
import { updateEscrow } from "../escrow/store.ts";
import { caip2Of } from "../markets/networks.ts";
import { type IntentRow, settleIntentStatements } from "../payments/store.ts";
import { signReceipt } from "../protocol/receipt.ts";
import { insertTask, type TaskRow } from "../tasks/store.ts";
import { toTaskView } from "../tasks/views.ts";
import type { FacilitationView } from "../transactions/schema.ts";
import { type Buyer, insertTransaction, type TransactionRow } from "../transactions/store.ts";
import { confirmByOf, toFacilitationView, toTransactionView } from "../transactions/views.ts";
import { announce } from "./rate-agent.ts";
import type { Mined } from "./settlement-evidence.ts";

export type Evidence = {
  readonly network: Network;
  readonly txHash: string;
  readonly mined: Mined;
  /** On the service's clock. */
  readonly minedAt: number;
  readonly settlement: Settled;
  readonly intent: IntentRow;
  readonly provider: AgentWithPrincipal;
  readonly consumer: Buyer;
  readonly markets: readonly MarketRow[];
  readonly escrows: readonly EscrowRow[];
};

export async function recordSettlement(call: AgentCall, evidence: Evidence): Promise<FacilitationView> {
  const { db, deps, now } = call;
  const { intent, settlement, network, minedAt } = evidence;
  const before = evidence.provider.agent;
  const held = evidence.escrows.filter((escrow) => escrow.network === network.network);
  const moved = held.map((escrow) => ({
    before: escrow,
    after: credited(escrow, Number(settlement.vaultBalance), minedAt),
  }));
  const escrows = evidence.escrows.map((escrow) => moved.find((one) => one.before === escrow)?.after ?? escrow);
  const stateMoved = moved.some((escrow) => escrow.before.state !== escrow.after.state);
  const transaction = await signed(call, evidence, transactionOf(evidence, moved[0]?.after ?? null, now));
  const task = taskOf(transaction);
  const set = { revision: before.revision + 1, ...(stateMoved && { updatedAt: now }) };
  const source = {
    agent: { ...before, ...set },
    principal: evidence.provider.principal,
    markets: evidence.markets,
    escrows,
  };
  const settled = { type: "transaction.settled", object: toTransactionView(deps.config, transaction) } as const;
  const opened =
    task && ({ type: "task.opened", object: toTaskView(deps.config, { task, transaction }, now) } as const);
  const platforms = [intent.providerPlatformId, intent.consumerPlatformId];
  const view = toFacilitationView(deps.config, transaction);
  await call.commit(
    [
      ...settleIntentStatements(db, intent, now),
      insertTransaction(db, transaction),
      ...(task ? [insertTask(db, task)] : []),
      ...updateAgent(db, before, set),
      ...moved.filter(differs).flatMap((escrow) => updateEscrow(db, escrow.before, escrow.after)),
      ...(await writeAid(db, deps, source, now, false)),
      ...announce(db, deps, source, moved, stateMoved, now),
      ...recordEventForParties(db, platforms, intent.environment, now, settled),
      ...(opened ? recordEventForParties(db, platforms, intent.environment, now, opened) : []),
    ],
    view,
  );
  return view;
}

function transactionOf(evidence: Evidence, escrow: EscrowRow | null, now: number): Omit<TransactionRow, "receipt"> {
  const { intent, settlement, provider, consumer, mined } = evidence;
  const transactionId = newId("fac", now);
  const { disputeWindowDays } = provider.agent;
  // Who buys from itself is paid and credited, but nobody is there to judge it: no task, no rating.
  const samePrincipal = provider.agent.principalId === consumer.principalId;
  return {
    transactionId,
    environment: intent.environment,
    intentId: intent.intentId,
    taskId: samePrincipal ? null : transactionId.replace(/^fac_/, "tsk_"),
    consumerDid: intent.consumerDid,
    providerDid: intent.providerDid,
    consumerPlatformId: intent.consumerPlatformId,
    providerPlatformId: intent.providerPlatformId,
    network: intent.network,
    currency: intent.currency,
    txHash: evidence.txHash,
    logIndex: settlement.logIndex,
    settlementId: settlement.settlementId.toString(),
    payer: settlement.payer,
    gross: Number(settlement.gross),
    fee: Number(settlement.fee),
    escrow: Number(settlement.escrow),
    operational: Number(settlement.operational),
    escrowState: escrow?.state ?? "FUNDING",
    escrowBalance: escrow?.balance ?? Number(settlement.vaultBalance),
    disputeWindowDays,
    disputeWindowClosesAt: disputeWindowDays === 0 ? null : now + disputeWindowDays * DAY_MS,
    providerAidVersion: provider.agent.version,
    blockNumber: mined.blockNumber,
    blockHash: mined.blockHash,
    settledAt: now,
  };
}

async function signed(
  call: AgentCall,
  { network }: Evidence,
  row: Omit<TransactionRow, "receipt">,
): Promise<TransactionRow> {
  const { config, ca } = call.deps;
  const { signing } = await ca();
  const amount = (units: number) => formatAmount(units, network.decimals);
  const receipt = await signReceipt(
    {
      iss: config.issuer,
      iat: Math.floor(row.settledAt / SECOND_MS),
      jti: row.transactionId,
      transaction_id: row.transactionId,
      intent_id: row.intentId,
      provider_did: row.providerDid,
      consumer_did: row.consumerDid,
      network: row.network,
      caip2: caip2Of(network),
      contract: network.settlement_contract,
      token: network.token,
      tx_hash: row.txHash,
      log_index: row.logIndex,
      gross_amt: amount(row.gross),
      fee_amt: amount(row.fee),
      escrow_credited: amount(row.escrow),
      operational_amt: amount(row.operational),
      currency: row.currency,
      settled_at: toIso(row.settledAt),
      dispute_window_closes_at: toIsoOrNull(row.disputeWindowClosesAt),
      provider_aid_version: row.providerAidVersion,
    },
    signing,
  );
  return { ...row, receipt };
}

function taskOf(transaction: TransactionRow): TaskRow | null {
  const { taskId, transactionId, environment, consumerDid, providerDid, settledAt } = transaction;
  if (taskId === null) return null;
  const nothing = { outcome: null, score: null, note: null, closedAt: null };
  const window = { openedAt: settledAt, confirmBy: confirmByOf(settledAt) };
  return { taskId, transactionId, environment, consumerDid, providerDid, status: "open", ...nothing, ...window };
}
