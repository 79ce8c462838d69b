// Repeats a payout that the guardian cancelled (DSP-19), at an operator's request: once for each cancellation. A large one needs two operators.
import type { OperatorCall } from "../call.ts";
import { formatTokenUnits, requireNetwork, selectEdition } from "../chain/networks.ts";
import { changeOperation } from "../chain/store.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { floorAmount } from "../core/text.ts";
import type { Actor } from "../core/vocabulary.ts";
import type { Statement } from "../db/batch.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { findRefundAddresses } from "../escrow/refund-store.ts";
import { findTransaction } from "../facilitation/store.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { noteRepeatedPayout } from "./evidence.ts";
import { type AwardState, computeAwardLeft, computeRefundLeft, isPayoutExpired, repeatAward } from "./payout-record.ts";
import { queueReserve } from "./reserve.ts";
import type { PayoutView } from "./responses.ts";
import type { PayoutInput } from "./schema.ts";
import {
  findEscrowOfDispute,
  findPaidOut,
  findPayout,
  type RefundedDispute,
  selectTransactionOfDispute,
} from "./store.ts";

const buildRepeatReads = (db: OperatorCall["db"], disputeId: string) => ({
  operation: findPayout(db, disputeId),
  transaction: findTransaction(db, selectTransactionOfDispute(disputeId)),
  escrow: findEscrowOfDispute(db, disputeId),
  booked: findPaidOut(db, disputeId),
  movedTo: findRefundAddresses(db, selectTransactionOfDispute(disputeId)),
});

export async function repeatPayout(
  call: OperatorCall<RefundedDispute>,
  disputeId: string,
  { reason }: PayoutInput,
): Promise<PayoutView> {
  const { db, deps } = call;
  const done = await retryUnderLocks(deps.env, async (touches) => {
    const { caller, object: found, ...read } = await call.read(buildRepeatReads(db, disputeId));
    const { operation, transaction, escrow, booked, movedTo } = read;
    const { dispute } = found;
    touches([dispute.providerDid, dispute.consumerDid]);
    if (!operation || !transaction || !isPayoutCancelled(dispute, operation)) throw toNotCancelledError(dispute);
    const network = requireNetwork(deps.config.networks, dispute.network);
    const on = selectEdition(network, transaction.contract || network.settlement_contract.toLowerCase());
    if (!on) throw toNotCancelledError(dispute);
    const now = deps.clock.now() + found.clockOffsetMs;
    const since = { ...dispute, refundedBefore: Math.max(dispute.refundedBefore, found.earlier) };
    const refunded = Math.max(0, found.refunded - since.refundedBefore);
    const at: AwardState = {
      operation,
      dispute: since,
      transaction,
      movedTo,
      escrow,
      on,
      refunded,
      ahead: 0,
      booked,
      now,
    };
    const left = computeAwardLeft(at, Math.max(dispute.paidOut, booked));
    if (computeRefundLeft(at, Math.max(dispute.paidOut, booked)) === 0) throw toNothingLeftError(dispute);
    if (isPayoutExpired(at)) throw toExpiredError(dispute);
    const asked = findFirstRequest(operation);
    if (asked !== null && asked.by === caller.actor.id) throw toSecondOperatorError(dispute, asked);
    const begins = asked !== null || left <= floorAmount(deps.config.payoutAloneUpTo, on.decimals);
    const begun = begins ? repeatAward(deps, at) : null;
    const view: PayoutView = {
      dispute_id: disputeId,
      payout: begins ? "begun" : "waits_for_second_operator",
      amount: formatTokenUnits(on, left),
      currency: dispute.currency,
      requested_by: asked?.by ?? caller.actor.id,
      confirmed_by: asked === null ? null : caller.actor.id,
      refund_status: begun?.row.refundStatus ?? dispute.refundStatus,
    };
    await call.commit(
      [
        ...(begun
          ? [...begun.statements, ...noteRepeatedPayout(db, caller.actor, found, begun.row.refundStatus, now)]
          : requestSecondOperator(call, operation, dispute, caller.actor, view)),
        recordOperatorEntry(db, caller.actor, deps.clock.now(), {
          action: begins ? "dispute.payout_repeated" : "dispute.payout_requested",
          subject: { type: "dispute", id: disputeId },
          platformId: dispute.consumerPlatformId,
          detail: { amount: view.amount, reason, ...(asked && { requested_by: asked.by }) },
        }),
      ],
      view,
    );
    return { view, begun };
  });
  if (done.begun) call.background(queueReserve(deps, done.begun.row));
  return done.view;
}

const isPayoutCancelled = ({ refundFrom, refundStatus }: DisputeRow, { status, reason }: OperationRow): boolean =>
  refundFrom === "vault" && refundStatus === "outstanding" && status === "failed" && reason === "cancelled";

/** The first operator's request since the last cancellation; a further cancellation removes it. */
type FirstRequest = { readonly by: string; readonly at: number };
const findFirstRequest = ({ wanted }: OperationRow): FirstRequest | null => {
  const { requested_by: by, requested_at: at } = wanted;
  return by && at ? { by, at: Number(at) } : null;
};

function requestSecondOperator(
  { db, deps }: OperatorCall,
  operation: OperationRow,
  dispute: DisputeRow,
  { id }: Actor,
  { amount, currency }: PayoutView,
): Statement[] {
  const now = deps.clock.now();
  const wanted = { ...operation.wanted, requested_by: id, requested_at: String(now) };
  const alert: Alert = {
    kind: "award",
    subject: `${dispute.disputeId} on ${dispute.network}, a second operator`,
    message: `The operator ${id} asks to pay ${amount} ${currency} of a cancelled award again: a second operator has to confirm it by the same call.`,
  };
  return [...changeOperation(db, operation, { wanted }, now), raiseAlert(db, alert)];
}

const toNotCancelledError = ({ status, refundStatus }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: "No payout of this dispute was cancelled since the last request: there is nothing to pay again.",
    detail: { status, refund_status: refundStatus },
  });
const toNothingLeftError = ({ refundStatus }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: "The whole refund has been repaid or paid out meanwhile.",
    detail: { refund_status: refundStatus },
  });
const toExpiredError = ({ refundStatus }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: "The contract pays nothing out for a settlement older than 400 days.",
    detail: { refund_status: refundStatus },
  });
const toSecondOperatorError = ({ refundStatus }: DisputeRow, { by, at }: FirstRequest): ServiceError =>
  new ServiceError("invalid_status", {
    message: "You requested this payout: a second operator has to confirm it.",
    detail: { refund_status: refundStatus, requested_by: by, requested_at: toIso(at) },
  });
