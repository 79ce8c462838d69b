// Pays an award out of the provider's vault (DSP-12), by the arbiter's chain operation: at most what the vault holds and at most the gross, in as
// many parts as needed. A part is stored before it is sent, and the contract pays it once, because it commits to what was paid before it.
// payout-record.ts records the outcome of a part.
import type { Signer } from "../chain/gateway.ts";
import { requireNetwork, selectEdition } from "../chain/networks.ts";
import { toSeenSchedule } from "../chain/operations.ts";
import { findOperation, requestAgain } from "../chain/store.ts";
import { readVault } from "../chain/surplus.ts";
import { driveAct, isActCancelled, isActDone, toPayoutPurpose, type VaultAct } from "../chain/vault-acts.ts";
import type { Deps } from "../context.ts";
import { leaveConflicts } from "../core/retry.ts";
import { commit, readBatch } from "../db/batch.ts";
import type { FollowerRow } from "../db/tables/chain.ts";
import { findRefundAddresses } from "../escrow/refund-store.ts";
import { findTransaction } from "../facilitation/store.ts";
import { tendOperations } from "../jobs/tend.ts";
import { createSigner } from "../objects/signers.ts";
import { readAhead, readSettlementFacts } from "./payout-chain.ts";
import {
  type AwardPart,
  type AwardState,
  computeAwardLeft,
  computeRefundLeft,
  dropPart,
  giveUpAward,
  isPayoutExpired,
  recheckLostSettlement,
  recordNothingToPay,
  recordPaid,
  recordPartOutcome,
  toAwardPart,
  toWantedPart,
  updateReserve,
} from "./payout-record.ts";
import {
  findEscrowOfDispute,
  findFollowerPlace,
  findPaidOut,
  findRefundedDispute,
  selectTransactionOfDispute,
} from "./store.ts";
import { isPartKept } from "./terms.ts";

const buildPayoutReads = ({ db }: Deps, network: string, disputeId: string) => ({
  operation: findOperation(db, { network, kind: "payout", subject: disputeId }),
  found: findRefundedDispute(db, disputeId),
  transaction: findTransaction(db, selectTransactionOfDispute(disputeId)),
  escrow: findEscrowOfDispute(db, disputeId),
  booked: findPaidOut(db, disputeId),
  place: findFollowerPlace(db, network),
  movedTo: findRefundAddresses(db, selectTransactionOfDispute(disputeId)),
});

/** Returns false if the chain does not answer in time, or if the dispute or the operation changed meanwhile: a later run continues. */
export const payAward = (deps: Deps, award: { network: string; disputeId: string }, until: number): Promise<boolean> =>
  leaveConflicts(() => driveAward(deps, award.network, award.disputeId, until));

async function driveAward(deps: Deps, name: string, disputeId: string, until: number): Promise<boolean> {
  const at = await readAwardState(deps, name, disputeId);
  if (at === null) return true;
  if (at === "unavailable") return false;
  const { operation, on, place } = at;
  if (operation.status === "failed") return updateReserve(deps, at);
  const begun = toAwardPart(operation);
  const over = operation.status !== "done" && isPayoutExpired(at);
  const part = begun ?? (over ? null : await planNextPart(at));
  if (part === "unavailable") return false;
  if (part === null) return recordNothingToPay(deps, at);
  const facts = await readSettlementFacts(deps, at, part.before);
  const tools = { chain: deps.chain, signer: createSigner(deps.env, "arbiter", name) };
  if (facts === "unavailable") return false;
  if (facts === "unknown") {
    if (!over) return recheckLostSettlement(deps, at);
    const left = await withdrawPart(at, tools.signer, until);
    return left && giveUpAward(deps, at, "expired");
  }
  const act = { kind: "payout", settlement: facts, amount: BigInt(part.amount) } as const;
  if (
    over ||
    (operation.status !== "done" && !isPartKept(part.amount, computeAwardLeft(at, part.before), at.dispute.partsRemade))
  ) {
    const fate = await findPartOutcome(at, act, tools.signer, until);
    if (fate === "unknown") return false;
    if (fate === "paid") return recordPaid(deps, at, part, null);
    if (fate === "cancelled") return giveUpAward(deps, at, "cancelled");
    if (over) return giveUpAward(deps, at, "expired");
    await dropPart(deps, at, part);
    return driveAward(deps, name, disputeId, until);
  }
  if (!begun) {
    await storePart(deps, at, part);
    return driveAward(deps, name, disputeId, until);
  }
  const driven = await driveAct(tools, on, act, toSeenSchedule(operation), until);
  return recordPartOutcome(deps, at, { part, act, signer: tools.signer, place }, driven);
}

/** Returns null if there is nothing to do. */
async function readAwardState(
  deps: Deps,
  name: string,
  disputeId: string,
): Promise<(AwardState & { readonly place: FollowerRow | null }) | null | "unavailable"> {
  const stored = await readBatch(deps.db, buildPayoutReads(deps, name, disputeId));
  const { operation, found, transaction, escrow, booked, place, movedTo } = stored;
  if (!operation || operation.nextCheckAt === null || !found || !transaction) return null;
  const network = requireNetwork(deps.config.networks, name);
  const on = selectEdition(network, transaction.contract || network.settlement_contract.toLowerCase());
  // A refund from before the filing may be booked after the dispute's end. The next change of the row stores it.
  const dispute = { ...found.dispute, refundedBefore: Math.max(found.dispute.refundedBefore, found.earlier) };
  if (!on || dispute.refundFrom !== "vault") return null;
  const now = deps.clock.now() + found.clockOffsetMs;
  // An operation that is done or failed pays nothing.
  const read = operation.status !== "waiting" ? null : await readAhead(deps, transaction, place);
  if (read === "unavailable") return "unavailable";
  const refunded = Math.max(0, found.refunded - dispute.refundedBefore);
  const ahead = read?.refunded ?? 0;
  return { operation, dispute, transaction, movedTo, escrow, on, refunded, ahead, booked, now, place };
}

/** Withdraws a part from the signer. Returns true if no transaction for it is pending any longer. */
async function withdrawPart({ on, transaction }: AwardState, signer: Signer, until: number): Promise<boolean> {
  const withdrawn = await signer.withdraw(toPayoutPurpose(on, transaction.settlementKey), until);
  return withdrawn.ok && withdrawn.value.state === "clear";
}

/** Finds the outcome of a part that is no longer to be paid. */
async function findPartOutcome(
  at: AwardState,
  act: Extract<VaultAct, { kind: "payout" }>,
  signer: Signer,
  until: number,
): Promise<"paid" | "cancelled" | "clear" | "unknown"> {
  const { on, operation } = at;
  if (!(await withdrawPart(at, signer, until))) return "unknown";
  const has = await isActDone(on, act);
  if (!has.ok) return "unknown";
  if (has.value) return "paid";
  const asked = { by: () => signer.address(), known: toSeenSchedule(operation) };
  return asked.known !== null && (await isActCancelled(on, act, asked)) ? "cancelled" : "clear";
}

/**
 * The next part is the refund as far as the vault holds it, and the bounty from the rest that no other award's refund needs. Null if nothing is left
 * to pay or the vault is empty: later contributions pay a refund, but no bounty.
 */
async function planNextPart(at: AwardState): Promise<AwardPart | null | "unavailable"> {
  const { dispute, escrow, on } = at;
  const left = computeAwardLeft(at);
  if (left === 0) return null;
  const read = await readVault(on, dispute.providerDid);
  if (!read.ok) return "unavailable";
  const held = Number(read.value.balance);
  const refund = Math.min(computeRefundLeft(at), held);
  const owedToOthers = Math.max(0, (escrow?.owed ?? 0) - dispute.owed);
  const amount = refund + Math.min(left - computeRefundLeft(at), Math.max(0, held - refund - owedToOthers));
  return amount > 0 ? { before: dispute.paidOut, amount } : null;
}

/** Stores the part before anything is sent, so that a retry after a crash sends the same part. */
const storePart = ({ db }: Deps, { operation }: AwardState, part: AwardPart): Promise<void> =>
  commit(db, requestAgain(db, operation, toWantedPart(part), Date.now()));

export const payAwards = tendOperations("pay_awards", "payout", ({ env }, network, disputeId) =>
  env.CHAIN_QUEUE.send({ kind: "pay_award", network, disputeId }),
);
