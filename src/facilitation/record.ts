// Records a verified settlement in one guarded batch (FAC-11 to FAC-16). Values that concurrent settlements of one provider change are changed
// relatively; the move of the intent and the settlement's unique key exclude a second record.
import { recordEscrowChange } from "../agents/ratings.ts";
import { markDocumentStale } from "../agents/store.ts";
import type { AgentCall } from "../call.ts";
import type { Settled } from "../chain/gateway.ts";
import { formatTokenUnits, type Network, toCaip2 } from "../chain/networks.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { createId } from "../core/ids.ts";
import { DAY_MS, SECOND_MS } from "../core/limits.ts";
import type { EscrowRow, TaskRow, TransactionRow } from "../db/tables/money.ts";
import { applyGain, hasStateChanged } from "../escrow/changes.ts";
import { pickEditionContract, toShownBalance } from "../escrow/states.ts";
import { moveBalance, toMovedStates } from "../escrow/store.ts";
import type { Seller } from "../identity/authority-store.ts";
import type { PaidIntent } from "../intents/find-store.ts";
import { settleIntent } from "../intents/store.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { recordEventForParties } from "../journal/events.ts";
import { turnHoldsIntoSpending } from "../payments/hold-store.ts";
import { signReceipt } from "../protocol/receipt.ts";
import { toTaskView } from "../tasks/read.ts";
import { insertTask } from "../tasks/store.ts";
import type { Mined } from "./evidence.ts";
import type { FacilitationView } from "./responses.ts";
import { type Buyer, insertFacilitated } from "./store.ts";
import { toConfirmBy, toFacilitationView, toTransactionView } from "./views.ts";

export type Evidence = {
  readonly network: Network;
  readonly txHash: string;
  readonly mined: Mined;
  /** Block time on the intent's clock, in epoch milliseconds. */
  readonly minedAt: number;
  readonly settlement: Settled;
  readonly intent: PaidIntent;
  readonly provider: Seller;
  readonly consumer: Buyer;
  /** The provider's escrow on this network; null if it has none. */
  readonly escrow: EscrowRow | null;
};

export async function recordSettlement(call: AgentCall, evidence: Evidence): Promise<FacilitationView> {
  const { db, deps, now } = call;
  const { intent, settlement, provider, escrow } = evidence;
  const { disputeWindowDays } = provider.agent;
  const windowClosesAt = disputeWindowDays === 0 ? 0 : deps.clock.now() + disputeWindowDays * DAY_MS;
  // A payment through another edition went to another vault than the one that counts (CHN-22).
  const present = escrow && pickEditionContract(escrow, evidence.network) === settlement.contract ? escrow : null;
  const amount = countCoveredEscrow(evidence, present);
  const uncounted = present ? Number(settlement.escrow) - amount : 0;
  const held = evidence.mined.held === null ? undefined : Number(evidence.mined.held);
  const gain = { amount, settled: true, windowClosesAt, ...(amount > 0 && { atMost: held }) };
  const change = present ? { before: present, after: applyGain(present, gain) } : null;
  const moved = change !== null && hasStateChanged(change);
  // The clock of the provider's platform dates the provider's own rows.
  const providerNow = intent.providerOffsetMs === null ? now : deps.clock.now() + intent.providerOffsetMs;
  const transaction = { ...toTransactionRow(call, evidence, change?.after ?? escrow), uncounted };
  const receipt = await signSettlementReceipt(call, evidence.network, transaction);
  const task = toTaskRow(transaction, pickPrincipals(evidence));
  const source = {
    agent: { ...provider.agent, ...(moved && { updatedAt: Math.max(provider.agent.updatedAt, providerNow) }) },
    principal: provider.principal,
    markets: provider.markets,
    escrows: provider.escrows.map((row) => (row === change?.before ? change.after : row)),
  };
  const settled = { type: "transaction.settled", object: toTransactionView(deps.config, transaction) } as const;
  const opened = task && ({ type: "task.opened", object: toTaskView(deps.config, task, now) } as const);
  const view = toFacilitationView(deps.config, { transaction, receipt });
  await call.commit(
    [
      ...settleIntent(db, intent, transaction),
      ...turnHoldsIntoSpending(db, intent, now),
      ...insertFacilitated(db, { transaction, receipt }),
      ...(task ? [insertTask(db, task)] : []),
      // Guards that the recorded version is still the provider's.
      ...markDocumentStale(
        db,
        provider.agent,
        moved ? { updatedAt: providerNow, ...toMovedStates([change.after]) } : {},
      ),
      ...(change ? moveBalance(db, change.before, change.after, gain) : []),
      ...(change ? recordEscrowChange(deps, source, moved, moved ? {} : null, providerNow) : []),
      ...(uncounted > 0 ? [raiseAlert(db, toUncoveredAlert(evidence, uncounted))] : []),
      ...recordEventForParties(db, intent, now, settled),
      ...(opened ? recordEventForParties(db, intent, now, opened) : []),
    ],
    view,
  );
  return view;
}

/** The part of the escrow that counts now: no more than the vault holds, because a receipt alone may be forged. */
function countCoveredEscrow({ settlement, mined }: Evidence, escrow: EscrowRow | null): number {
  const whole = Number(settlement.escrow);
  if (escrow === null || mined.held === null) return whole;
  return Math.min(whole, Math.max(0, Number(mined.held) - escrow.balance));
}

const toUncoveredAlert = ({ network, intent, mined, txHash }: Evidence, uncounted: number): Alert => ({
  kind: "reconciliation",
  subject: `${intent.providerDid} on ${network.network}`,
  message:
    `When ${txHash} was facilitated, the vault held ${mined.held} base units: ${uncounted} of its escrow were not covered, and count once its ledger line is ` +
    "booked. Either funds have left the vault since the payment, or the node reported a wrong receipt or balance.",
});

function toTransactionRow(call: AgentCall, evidence: Evidence, escrow: EscrowRow | null): TransactionRow {
  const { intent, settlement, provider, mined } = evidence;
  const transactionId = createId("fac", call.now);
  const { disputeWindowDays } = provider.agent;
  return {
    transactionId,
    environment: intent.environment,
    intentId: intent.intentId,
    taskId: isOnePrincipal(pickPrincipals(evidence)) ? null : transactionId.replace(/^fac_/, "tsk_"),
    consumerDid: intent.consumerDid,
    providerDid: intent.providerDid,
    consumerPlatformId: intent.consumerPlatformId,
    providerPlatformId: intent.providerPlatformId,
    network: intent.network,
    currency: intent.currency,
    txHash: evidence.txHash,
    logIndex: settlement.logIndex,
    contract: settlement.contract,
    settlementKey: settlement.settlementKey,
    payer: settlement.payer,
    refundTo: settlement.refundTo === settlement.payer ? "" : settlement.refundTo,
    operationalWallet: settlement.operationalWallet,
    gross: Number(settlement.gross),
    fee: Number(settlement.fee),
    escrow: Number(settlement.escrow),
    uncounted: 0,
    operational: Number(settlement.operational),
    escrowState: escrow?.state ?? "FUNDING",
    escrowBalance: escrow ? toShownBalance(escrow) : Number(settlement.vaultBalance),
    escrowAsOfBlock: intent.bookedBlock ?? 0,
    disputeWindowDays,
    disputeWindowClosesAt: disputeWindowDays === 0 ? null : call.now + disputeWindowDays * DAY_MS,
    providerAidVersion: provider.agent.version,
    // The consumer opened the intent, or its proof came with this call (TSK-12).
    consumerWilled: intent.openedBy === intent.consumerDid || call.did === intent.consumerDid,
    blockNumber: mined.blockNumber,
    blockHash: mined.blockHash,
    settledAt: call.now,
    reversedAt: null,
  };
}

type Principals = Pick<TaskRow, "providerPrincipalId" | "consumerPrincipalId">;

/** Agents of one principal get no task and no rating (FAC-14). */
const isOnePrincipal = ({ providerPrincipalId, consumerPrincipalId }: Principals): boolean =>
  providerPrincipalId === consumerPrincipalId;

/** Returns the principals at the settlement. If they are one, those at the intent's opening: a transfer in between must not avoid the task. */
function pickPrincipals({ intent, provider, consumer }: Evidence): Principals {
  const present = { providerPrincipalId: provider.agent.principalId, consumerPrincipalId: consumer.principalId };
  return isOnePrincipal(present) ? intent : present;
}

async function signSettlementReceipt(call: AgentCall, network: Network, row: TransactionRow): Promise<string> {
  const { config, ca } = call.deps;
  const { signing } = await ca();
  const amount = (units: number) => formatTokenUnits(network, units);
  return signReceipt(
    {
      iss: config.issuer,
      iat: Math.floor(row.settledAt / SECOND_MS),
      jti: row.transactionId,
      transaction_id: row.transactionId,
      intent_id: row.intentId,
      provider_did: row.providerDid,
      consumer_did: row.consumerDid,
      network: row.network,
      caip2: toCaip2(network),
      contract: row.contract,
      token: network.token,
      tx_hash: row.txHash,
      log_index: row.logIndex,
      settlement_key: row.settlementKey,
      payer: row.payer,
      refund_to: row.refundTo || row.payer,
      operational_wallet: row.operationalWallet,
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
}

function toTaskRow(
  transaction: TransactionRow,
  { providerPrincipalId, consumerPrincipalId }: Principals,
): TaskRow | null {
  const { taskId, transactionId, environment, consumerDid, providerDid, settledAt } = transaction;
  if (taskId === null) return null;
  const { intentId, network, currency, gross } = transaction;
  const nothing = { answer: null, outcome: null, score: null, note: null, closedAt: null };
  const unrated = { providerRatedBy: null, consumerRatedBy: null, providerRatedAt: null };
  const undisputed = { heldMs: 0, verdict: null, verdictScore: null };
  const window = { openedAt: settledAt, confirmBy: toConfirmBy(settledAt) };
  const settled = { transactionId, environment, consumerDid, providerDid, intentId, network, currency, gross };
  const { consumerPlatformId, providerPlatformId } = transaction;
  const ofTwoClocks = environment === "sandbox" && consumerPlatformId !== providerPlatformId;
  return {
    taskId,
    ruledBy: ofTwoClocks ? consumerPlatformId : null,
    ...settled,
    ...{ providerPrincipalId, consumerPrincipalId },
    status: "open",
    ...nothing,
    ...unrated,
    ...undisputed,
    ...window,
  };
}
