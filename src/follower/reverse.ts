// Reverses a facilitated settlement whose block is no longer on the chain (FAC-18): undoes all of its effects, and its intent waits for the payment
// again. If the payment is in another block, the intent is PAID at once, and is facilitated again.
import { recordEscrowChange } from "../agents/ratings.ts";
import { markDocumentStale } from "../agents/store.ts";
import type { SettlementReading } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { type Database, type ReadResults, readTogether, type Statement } from "../db/batch.ts";
import { computeClockDifference, type Timed } from "../db/clock.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import type { EscrowRow, IntentRow, TransactionRow } from "../db/tables/money.ts";
import { toFoundSeller } from "../disputes/effects.ts";
import { reverseDispute } from "../disputes/resolve.ts";
import { findLatestDispute, findPaidOut, selectLatestDispute } from "../disputes/store.ts";
import { applyGain, type EscrowChange } from "../escrow/changes.ts";
import { pickEditionContract } from "../escrow/states.ts";
import { moveBalance, toMovedStates } from "../escrow/store.ts";
import { findTransaction, reverseTransaction } from "../facilitation/store.ts";
import { toTransactionView } from "../facilitation/views.ts";
import { findSellerIn, type Seller } from "../identity/authority-store.ts";
import { LOST_PAYMENT_MS } from "../intents/states.ts";
import { findIntent, reopenIntent, toReopenedIntent } from "../intents/store.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { recordEventForParties } from "../journal/events.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { takeBackSpending } from "../payments/hold-store.ts";
import { type ClosingFacts, prepareClosingReads } from "../tasks/close.ts";
import { findRatedSides, reverseTask } from "../tasks/verdict.ts";
import { isForIntent, type PaymentAt, recordPaidIntent } from "./payments.ts";
import { guardFollower, noteBound } from "./store.ts";

/** `reading`: where the transaction is on the chain now. Throws Conflict if another run has moved on. */
export async function reverseSettlement(
  deps: Deps,
  network: Network,
  known: FollowerRow,
  gone: TransactionRow,
  reading: SettlementReading,
): Promise<void> {
  const payment = findMovedPayment(reading, gone);
  await retryUnderLocks(deps.env, async (touches) => {
    const { db } = deps;
    const closing = gone.taskId === null ? {} : prepareClosingReads(db, gone.taskId);
    const [facts, task] = await readTogether(db, buildReversalReads(db, gone), closing);
    if (facts.transaction?.reversedAt !== null) return;
    touches([gone.providerDid, gone.consumerDid]);
    const ended = gone.taskId === null ? null : (task as ClosingFacts);
    await commitAll(deps, [guardFollower(db, known), ...recordReversal(deps, network, facts, ended, payment)]);
  });
}

/** Returns the same payment in another block, if it has the network's confirmations. */
function findMovedPayment(reading: SettlementReading, { txHash, logIndex }: TransactionRow): PaymentAt | null {
  if (reading.state !== "mined") return null;
  const { blockNumber, blockHash, minedAt, settlements } = reading;
  const settled = settlements.find((one) => one.logIndex === logIndex);
  return settled ? { ...settled, kind: "settled", txHash, blockNumber, blockHash, minedAt } : null;
}

const buildReversalReads = (db: Database, { transactionId, intentId }: TransactionRow) => ({
  transaction: findTransaction(db, transactionId),
  dispute: findLatestDispute(db, transactionId),
  paidOut: findPaidOut(db, selectLatestDispute(transactionId)),
  intent: findIntent(db, intentId),
  seller: findSellerIn(db, transactionId),
});
type ReversalFacts = ReadResults<ReturnType<typeof buildReversalReads>>;

function recordReversal(
  deps: Deps,
  network: Network,
  { transaction, dispute, paidOut, intent, seller }: ReversalFacts,
  task: ClosingFacts | null,
  payment: PaymentAt | null,
): Statement[] {
  if (!transaction || !intent || !seller) throw new Error("a settlement without its intent or its provider");
  const { db, config, clock } = deps;
  // On the clock that rules the purchase (ACC-9).
  const now = clock.now() + intent.clockOffsetMs;
  const apart = computeClockDifference({ ...seller, clockOffsetMs: intent.clockOffsetMs });
  const change = findCreditChange(network, seller.escrows, transaction);
  const left = change ? seller.escrows.map((row) => (row === change.before ? change.after : row)) : seller.escrows;
  const rated = task ? findRatedSides(task) : { provider: false, consumer: false };
  const found = toFoundSeller({ ...seller, escrows: left }, intent.clockOffsetMs);
  const ended = reverseDispute(deps, dispute, found, { rated, paidOut }, now);
  const object = toTransactionView(config, { ...transaction, reversedAt: now });
  return [
    ...reverseTransaction(db, transaction, now),
    ...reopenReversedIntent(deps, network, intent, transaction, payment),
    ...(change ? moveEscrowBack(deps, { ...seller, escrows: left }, change, now + apart) : []),
    ...ended.statements,
    ...(task ? reverseTask(deps, task, ended, now) : []),
    ...recordEventForParties(db, transaction, now, { type: "transaction.reversed", object }),
    raiseAlert(db, toReversedAlert(transaction)),
  ];
}

/** Holds the intent's amount again. If the payment is in another block, the intent is PAID at once, and its hold has no end. */
function reopenReversedIntent(
  deps: Deps,
  { network }: Network,
  { clockOffsetMs, ...intent }: Timed<IntentRow>,
  transaction: TransactionRow,
  payment: PaymentAt | null,
): Statement[] {
  const now = deps.clock.now() + clockOffsetMs;
  const open = toReopenedIntent(intent, transaction, now + LOST_PAYMENT_MS);
  return [
    ...reopenIntent(deps.db, intent, open),
    ...takeBackSpending(deps.db, open, transaction.settledAt),
    ...(payment && isForIntent(network, open, payment, false)
      ? [
          ...recordPaidIntent(deps, { intent: { ...open, clockOffsetMs }, payment }),
          noteBound(deps.db, network, intent.intentId),
        ]
      : []),
  ];
}

/** Finds the escrow that the settlement was credited to. An escrow that has moved to another edition's vault holds nothing of it. */
function findCreditChange(
  network: Network,
  escrows: readonly EscrowRow[],
  transaction: TransactionRow,
): EscrowChange | null {
  const before = escrows.find(
    (row) => row.network === transaction.network && pickEditionContract(row, network) === transaction.contract,
  );
  return before
    ? { before, after: applyGain(before, { amount: transaction.uncounted - transaction.escrow, settled: true }) }
    : null;
}

/** The state may change with the balance. An agent that has left the environment gets no event about it. `now`: on its platform's clock. */
function moveEscrowBack(
  deps: Deps,
  { agent, ...source }: Seller,
  { before, after }: EscrowChange,
  now: number,
): Statement[] {
  const { db } = deps;
  const moved = moveBalance(db, before, after, { amount: after.balance - before.balance, settled: true });
  if (before.state === after.state || agent.environment !== before.environment) return moved;
  return [
    ...moved,
    ...markDocumentStale(db, agent, { updatedAt: now, ...toMovedStates([after]) }),
    ...recordEscrowChange(
      deps,
      { ...source, agent: { ...agent, updatedAt: Math.max(agent.updatedAt, now) } },
      true,
      {},
      now,
    ),
  ];
}

const toReversedAlert = ({ transactionId, network, blockNumber }: TransactionRow): Alert => ({
  kind: "settlement_reversed",
  subject: `${transactionId} on ${network}`,
  message: `The chain has no such settlement in block ${blockNumber} (any more): it is reversed, and facilitated again if its payment returns.`,
});
