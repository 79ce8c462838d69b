// Records the outcome of a part of an award (DSP-12): scheduled, paid, dropped, refused, or given up. The dispute, its escrow and the operation
// change together.
import type { Signer } from "../chain/gateway.ts";
import type { Network } from "../chain/networks.ts";
import {
  type DriveResult,
  type OwnProgress,
  postponeOperation,
  recordDriven,
  recordRecheck,
  toSeenSchedule,
} from "../chain/operations.ts";
import { changeOperation, requestAgain } from "../chain/store.ts";
import { type ActOnChain, isActCancelled, type VaultAct } from "../chain/vault-acts.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { decodeIdInstant } from "../core/ids.ts";
import { CANCELLED_PAYOUT_KEPT_DAYS, DAY_MS, HOUR_MS, MINUTE_MS, PAYOUT_DAYS_MAX } from "../core/limits.ts";
import type { RefundStatus } from "../core/vocabulary.ts";
import { commit, type Statement } from "../db/batch.ts";
import type { FollowerRow, OperationRow } from "../db/tables/chain.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow, TransactionRow } from "../db/tables/money.ts";
import { addClaim } from "../escrow/changes.ts";
import { moveClaim } from "../escrow/store.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { recordDisputeUpdated } from "./deadlines.ts";
import { requestReserve } from "./effects.ts";
import { readAhead } from "./payout-chain.ts";
import { queueReserve } from "./reserve.ts";
import { updateRefund } from "./store.ts";
import { computeAwardPayable, computeRefundPayable } from "./terms.ts";

export type AwardState = {
  readonly operation: OperationRow;
  readonly dispute: DisputeRow;
  readonly transaction: TransactionRow;
  /** Later refund addresses of the settlement, by booked blocks. */
  readonly movedTo: readonly string[];
  readonly escrow: EscrowRow | null;
  readonly on: Network;
  /** Booked refunds that wallets paid since the filing. */
  readonly refunded: number;
  /** Refunds that wallets paid in blocks that are not booked yet. */
  readonly ahead: number;
  /** Payouts of the vault for the settlement, by the contract's booked events. */
  readonly booked: number;
  /** On the clock that rules the dispute. */
  readonly now: number;
};

/** `before`: how much was paid out before this part. */
export type AwardPart = { readonly before: number; readonly amount: number };

type DrivenPart = {
  readonly part: AwardPart;
  readonly act: Extract<VaultAct, { kind: "payout" }>;
  readonly signer: Signer;
  /** The follower's place on the network. */
  readonly place: FollowerRow | null;
};

export const toAwardPart = ({ wanted }: OperationRow): AwardPart | null => {
  const { before, amount } = wanted;
  return before && amount ? { before: Number(before), amount: Number(amount) } : null;
};
export const toWantedPart = ({ before, amount }: AwardPart) => ({ before: String(before), amount: String(amount) });

/** The refund that the vault still owes, by booked blocks. It excludes the bounty: an unpaid bounty reserves nothing. */
const computeRefundOwed = ({ dispute, refunded }: AwardState, paidOut = dispute.paidOut): number =>
  Math.max(0, computeRefundPayable(dispute) - refunded - paidOut);
/** The refund that is still to be paid, by all blocks. */
export const computeRefundLeft = (at: AwardState, paidOut = at.dispute.paidOut): number =>
  Math.max(0, computeRefundOwed(at, paidOut) - at.ahead);
/** The refund and the bounty that are still to be paid, by all blocks. */
export const computeAwardLeft = ({ dispute, refunded, ahead }: AwardState, paidOut = dispute.paidOut): number =>
  Math.max(0, computeAwardPayable(dispute) - refunded - paidOut - ahead);

/** `unpaid`: the status while a part of the refund is owed. */
const toRefundStatus = (owed: number, unpaid: RefundStatus): RefundStatus => (owed === 0 ? "paid" : unpaid);

/**
 * The contract pays for 400 days after the settlement. A moved sandbox clock may date the settlement later than real time; then the filing's id tells
 * the real time.
 */
export const isPayoutExpired = ({ transaction, dispute }: AwardState): boolean => {
  const settledAt = Math.min(transaction.settledAt, decodeIdInstant("dsp", dispute.disputeId) ?? transaction.settledAt);
  return Date.now() > settledAt + PAYOUT_DAYS_MAX * DAY_MS;
};

/** Commits a change of the award's operation with what it changes of the dispute. */
async function commitAward(
  deps: Deps,
  at: AwardState,
  change: readonly Statement[],
  set: Partial<DisputeRow>,
  alert?: Alert,
): Promise<true> {
  const alerts = alert ? [raiseAlert(deps.db, alert)] : [];
  await commitAll(deps, [...change, ...recordRefundProgress(deps, at, set), ...alerts]);
  return true;
}

/** Drops a part of which wallets have refunded all or much since: the rest becomes a new part. */
export async function dropPart(deps: Deps, at: AwardState, part: AwardPart): Promise<void> {
  const { operation, dispute } = at;
  const partsRemade = dispute.partsRemade + (computeAwardLeft(at, part.before) > 0 ? 1 : 0);
  const owed = computeRefundOwed(at);
  const set = { refundStatus: toRefundStatus(owed, "owed"), owed, partsRemade };
  await commitAward(deps, at, requestAgain(deps.db, operation, {}, Date.now()), set);
}

/**
 * Checks again later if no node has the settlement. It gives nothing up, because a reorg that removed the settlement ends the dispute itself; after
 * an hour an operator is alerted.
 */
export async function recheckLostSettlement(deps: Deps, at: AwardState): Promise<boolean> {
  const { operation, dispute } = at;
  const now = Date.now();
  const stays = now - operation.createdAt > HOUR_MS;
  const change = postponeOperation(deps.db, operation, now + (stays ? HOUR_MS : MINUTE_MS), now);
  return commitAward(deps, at, change, {}, stays ? toLostSettlementAlert(dispute) : undefined);
}

/** Waits for contributions. Ends if no refund is owed any longer, or if the contract's 400 days are over. */
export async function recordNothingToPay(deps: Deps, at: AwardState): Promise<boolean> {
  const { operation, dispute } = at;
  const owed = computeRefundOwed(at);
  const left = computeRefundLeft(at);
  const now = Date.now();
  // Refunds that are not booked yet leave nothing to give up: the next check sees them booked.
  if (left > 0 && isPayoutExpired(at)) return giveUpAward(deps, at, "expired");
  const nextCheckAt = owed === 0 ? null : now + (left === 0 ? MINUTE_MS : HOUR_MS);
  const set = { ...toPaidColumns(at, dispute.paidOut), refundStatus: toRefundStatus(owed, "owed"), owed };
  return commitAward(deps, at, postponeOperation(deps.db, operation, nextCheckAt, now), set);
}

/** Stops paying an award and alerts an operator. After a cancellation the vault reserves the refund, because an operator may repeat the payout. */
export async function giveUpAward(deps: Deps, at: AwardState, reason: string): Promise<boolean> {
  const { operation, dispute } = at;
  const now = Date.now();
  const keptUntil = reason === "cancelled" ? now + CANCELLED_PAYOUT_KEPT_DAYS * DAY_MS : now;
  const wanted = reason === "cancelled" ? { kept_until: String(keptUntil) } : {};
  const { nextCheckAt, set } = reserveUntil(at, keptUntil, now);
  const change = changeOperation(deps.db, operation, { wanted, status: "failed", reason, nextCheckAt }, now);
  return commitAward(deps, at, change, set, toRefusedPayoutAlert(dispute, reason));
}

/** Updates the reserve of a cancelled award each hour, and releases it when its days are over. */
export async function updateReserve(deps: Deps, at: AwardState): Promise<boolean> {
  const { operation, dispute } = at;
  const now = Date.now();
  const { nextCheckAt, set } = reserveUntil(at, Number(operation.wanted["kept_until"] ?? 0), now);
  const change = postponeOperation(deps.db, operation, nextCheckAt, now);
  return commitAward(deps, at, change, { ...toPaidColumns(at, dispute.paidOut), ...set });
}

function reserveUntil(at: AwardState, until: number, now: number) {
  const left = computeRefundOwed(at);
  const kept = now < until;
  return {
    nextCheckAt: kept ? Math.min(until, now + HOUR_MS) : null,
    set: { refundStatus: toRefundStatus(left, "outstanding"), owed: kept ? left : 0 },
  };
}

/** Makes a cancelled award owed again; the next check plans its next part. */
export function repeatAward(
  deps: Deps,
  at: AwardState,
): { readonly row: DisputeRow; readonly statements: Statement[] } {
  const { operation, dispute } = at;
  const owed = computeRefundOwed(at);
  const set = { refundStatus: toRefundStatus(owed, "owed"), owed };
  return {
    row: { ...dispute, ...set },
    statements: [...requestAgain(deps.db, operation, {}, Date.now()), ...recordRefundProgress(deps, at, set)],
  };
}

export async function recordPartOutcome(
  deps: Deps,
  at: AwardState,
  sent: DrivenPart,
  driven: DriveResult<ActOnChain>,
): Promise<boolean> {
  const { part } = sent;
  const { operation, dispute } = at;
  const now = Date.now();
  if (driven.state === "failed") return recordFailed(deps, at, sent, driven.reason);
  const scheduled = driven.state === "done" ? driven.onChain.scheduled : null;
  if (driven.state === "done" && scheduled === null) return recordPaid(deps, at, part, driven.txHash);
  const own = { wanted: toWantedPart(part), scheduled };
  const owed = computeRefundOwed(at, part.before);
  const status: RefundStatus = scheduled || driven.txHash !== null ? "sent" : dispute.refundStatus;
  await commitAward(deps, at, recordDriven(deps.db, operation, driven, own, now), {
    ...toUnpaidColumns(at, part),
    // The vault reserves the whole part, because the contract pays all of it even if wallets have refunded some.
    owed: Math.max(owed, part.amount),
    refundStatus: toRefundStatus(owed, status),
  });
  return driven.state !== "waiting";
}

export async function recordPaid(deps: Deps, at: AwardState, part: AwardPart, txHash: string | null): Promise<boolean> {
  const { db } = deps;
  const { operation, dispute } = at;
  const now = Date.now();
  // If a reorg removed a refund after the award was paid, the rest becomes a new part.
  if (operation.status === "done" && txHash === null && computeRefundOwed(at) === 0) {
    await commit(db, [recordRecheck(db, operation, now)]);
    return true;
  }
  const paidOut = part.before + part.amount;
  const owed = computeRefundOwed(at, paidOut);
  // The next check plans the next part.
  const own: OwnProgress =
    owed === 0 ? { wanted: toWantedPart(part) } : { wanted: {}, status: "waiting", nextCheckAt: now + HOUR_MS };
  const change = recordDriven(db, operation, { state: "done", onChain: null, txHash }, own, now);
  const set = { ...toPaidColumns(at, paidOut), owed, refundStatus: toRefundStatus(owed, "owed") };
  await commitAward(deps, at, change, set);
  await queueReserve(deps, { ...dispute, refundFrom: null });
  return true;
}

/** A part that was recorded as paid, but that the contract does not have, is owed again. */
function toUnpaidColumns(at: AwardState, { before }: AwardPart) {
  if (at.operation.status !== "done") return {};
  const owed = computeRefundOwed(at, before);
  return { ...toPaidColumns(at, before), owed, refundStatus: toRefundStatus(owed, "owed") };
}

const toPaidColumns = ({ dispute, refunded }: AwardState, paidOut: number) => ({
  paidOut,
  bountyPaid: Math.min(dispute.bounty, Math.max(0, paidOut + refunded - dispute.refund)),
});

/**
 * Handles a part that the contract refused. If the database has lost an earlier payout, the contract's booked events show it, and the next part
 * starts from there (CHN-24).
 */
async function recordFailed(
  deps: Deps,
  at: AwardState,
  { part, act, signer, place }: DrivenPart,
  reason: string,
): Promise<boolean> {
  const { db } = deps;
  const { operation, dispute, transaction, booked, on } = at;
  const now = Date.now();
  const forgotten = reason === "UnknownSettlement" && booked !== part.before;
  if (forgotten || reason === "ExceedsVault") {
    const paid = forgotten ? toPaidColumns(at, booked) : toUnpaidColumns(at, part);
    const owed = computeRefundOwed(at, forgotten ? booked : part.before);
    const nextCheckAt = now + (forgotten ? 0 : MINUTE_MS);
    return commitAward(deps, at, requestAgain(db, operation, {}, now, { nextCheckAt }), { ...paid, owed });
  }
  if (reason === "cancelled") {
    // A single node may see the payment and the schedule in different blocks, so a second one is asked.
    const asked = { by: () => signer.address(), known: toSeenSchedule(operation) };
    if (await isActCancelled(on, act, asked)) return giveUpAward(deps, at, reason);
  }
  // The part may be gone after a reorg, or the buyer may have moved the refund address in a block that is not booked yet.
  const isDone = reason === "UnknownSettlement" && operation.status === "done";
  const ahead = isDone ? await readAhead(deps, transaction, place) : null;
  if (ahead === "unavailable") return false;
  if (ahead !== null && booked + ahead.paidOut >= part.before + part.amount) {
    await commit(db, [recordRecheck(db, operation, now)]);
    return true;
  }
  const change = postponeOperation(db, operation, now + HOUR_MS, now);
  return commitAward(deps, at, change, isDone ? toUnpaidColumns(at, part) : {}, toRefusedPayoutAlert(dispute, reason));
}

/** Reports changes of the dispute, and lowers the reserve if the vault owes less. */
function recordRefundProgress(deps: Deps, { dispute, escrow, now }: AwardState, set: Partial<DisputeRow>): Statement[] {
  const { db } = deps;
  const row: DisputeRow = { ...dispute, ...set };
  const claim = { disputed: 0, owed: row.owed - dispute.owed };
  const noted = { ...set, refundedBefore: row.refundedBefore };
  const changed = Object.keys(set).some((name) => row[name as keyof DisputeRow] !== dispute[name as keyof DisputeRow]);
  return [
    ...(changed ? [...updateRefund(db, dispute, noted), ...recordDisputeUpdated(deps, row, now)] : []),
    ...(claim.owed !== 0 && escrow
      ? [...moveClaim(db, escrow, addClaim(escrow, claim), claim), requestReserve(db, dispute)]
      : []),
  ];
}

const toRefusedPayoutAlert = ({ disputeId, network }: DisputeRow, reason: string): Alert => ({
  kind: "award",
  subject: `${disputeId} on ${network}`,
  message: `The contract refused to pay an award: ${reason}.`,
});
const toLostSettlementAlert = ({ disputeId, network }: DisputeRow): Alert => ({
  kind: "award",
  subject: `${disputeId} on ${network}`,
  message: "No node finds the settlement that an award is paid for: the service looks for it again each hour.",
});
