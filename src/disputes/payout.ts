// Pays an award out of the provider's vault (DSP-12): by the arbiter's operation, at most what the vault holds and the gross, in as many parts as that
// takes. A part is stored before it is sent, and the contract pays it once, because each is bound to what was paid before it.
import type { Signer } from "../chain/gateway.ts";
import { type Network, networkNamed, onEdition } from "../chain/networks.ts";
import { type DrivenTo, firstCheck, nextCheck } from "../chain/operations.ts";
import {
  checkAt,
  findOperation,
  findUnchecked,
  noteCheck,
  putOperation,
  wantAgain,
  whileOperation,
} from "../chain/store.ts";
import { readVault } from "../chain/surplus.ts";
import { type ActOnChain, driveAct, hasAct, purposeOf, type VaultAct } from "../chain/vault-acts.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { FIRST } from "../core/due.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, PAYOUT_DAYS_MAX, SECOND_MS } from "../core/limits.ts";
import { Conflict } from "../core/retry.ts";
import type { RefundStatus } from "../core/vocabulary.ts";
import { commit, readBatch, type Statement } from "../db/batch.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow, TransactionRow } from "../db/tables/money.ts";
import { claimed } from "../escrow/changes.ts";
import { moveClaim } from "../escrow/store.ts";
import { findTransaction } from "../facilitation/store.ts";
import type { EachJob } from "../jobs/job.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { signerOn } from "../objects/signers.ts";
import { told } from "./deadlines.ts";
import { wantReserve } from "./effects.ts";
import { refundedAhead, settlementFacts } from "./payout-chain.ts";
import { nudgeReserve } from "./reserve.ts";
import {
  findEscrowOfDispute,
  findPaidOut,
  findPlace,
  findRefundedDispute,
  noteRefund,
  transactionOf,
} from "./store.ts";
import { payableOf } from "./terms.ts";

const reads = ({ db }: Deps, network: string, disputeId: string) => ({
  operation: findOperation(db, { network, kind: "payout", subject: disputeId }),
  found: findRefundedDispute(db, disputeId),
  transaction: findTransaction(db, transactionOf(disputeId)),
  escrow: findEscrowOfDispute(db, disputeId),
  booked: findPaidOut(db, disputeId),
  place: findPlace(db, network),
});

type At = {
  readonly operation: OperationRow;
  readonly dispute: DisputeRow;
  readonly transaction: TransactionRow;
  readonly escrow: EscrowRow | null;
  readonly on: Network;
  /** What wallets gave back beside it, as it is booked. */
  readonly refunded: number;
  /** The same in the blocks that are not booked yet. */
  readonly ahead: number;
  /** On the clock that rules the dispute. */
  readonly now: number;
};

/** A part of an award: what was paid out before it, and the amount. */
type Part = { readonly before: number; readonly amount: number };

/** False where the chain has not answered in time: a later run continues. */
export async function payAward(
  deps: Deps,
  award: { network: string; disputeId: string },
  until: number,
): Promise<boolean> {
  try {
    return await drive(deps, award.network, award.disputeId, until);
  } catch (thrown) {
    // Something has moved meanwhile: the operation is still due.
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}

async function drive(deps: Deps, name: string, disputeId: string, until: number): Promise<boolean> {
  const { operation, found, transaction, escrow, booked, place } = await readBatch(
    deps.db,
    reads(deps, name, disputeId),
  );
  if (!operation || operation.nextCheckAt === null || !found || !transaction) return true;
  const network = networkNamed(deps.config.networks, name);
  const on = onEdition(network, transaction.contract || network.settlement_contract.toLowerCase());
  const { dispute, refunded } = found;
  if (!on || dispute.refundFrom !== "vault") return true;
  const now = deps.clock.now() + found.clockOffsetMs;
  // Of one that is done nothing is paid any more.
  const ahead = operation.status === "done" ? 0 : await refundedAhead(deps, transaction, place);
  if (ahead === "unavailable") return false;
  const at: At = { operation, dispute, transaction, escrow, on, refunded, ahead, now };
  const part = partOf(operation) ?? (await nextPart(at));
  if (part === "unavailable") return false;
  if (part === null) return later(deps, at);
  const facts = await settlementFacts(deps, transaction, on, part.before);
  if (facts === "unavailable") return false;
  if (facts === null) return givenUp(deps, at, "UnknownSettlement");
  if (!partOf(operation)) {
    await begin(deps, at, part);
    return drive(deps, name, disputeId, until);
  }
  const act = { kind: "payout", settlement: facts, amount: BigInt(part.amount) } as const;
  const tools = { chain: deps.chain, signer: signerOn(deps.env, "arbiter", name) };
  if (operation.status !== "done" && part.amount > leftOf(at, part.before)) {
    const dropped = await drop(deps, at, part, act, tools.signer, until);
    return dropped === "dropped" ? drive(deps, name, disputeId, until) : dropped;
  }
  const driven = await driveAct(tools, on, act, knownOf(operation), until);
  return noted(deps, at, part, driven, booked);
}

/** A part of which the provider has given something back since: it is paid only where the contract has done it already. */
async function drop(
  deps: Deps,
  at: At,
  part: Part,
  act: Extract<VaultAct, { kind: "payout" }>,
  signer: Signer,
  until: number,
): Promise<"dropped" | boolean> {
  const { db } = deps;
  const { operation, on } = at;
  // One that is scheduled is not executed, and the authority forgets it.
  const withdrawn = await signer.withdraw(purposeOf(on, act), until);
  if (!withdrawn.ok || withdrawn.value.state !== "clear") return false;
  const has = await hasAct(on, act);
  if (!has.ok) return false;
  if (has.value) return hasPaid(deps, at, part, null);
  await commitAll(deps, [
    whileOperation(db, operation),
    wantAgain(db, operation, {}, Date.now()),
    ...progress(deps, at, { refundStatus: "owed" }),
  ]);
  return "dropped";
}

const partOf = ({ wanted }: OperationRow): Part | null => {
  const { before, amount } = wanted;
  return before && amount ? { before: Number(before), amount: Number(amount) } : null;
};
const knownOf = ({ wanted }: OperationRow) => {
  const { effective_at: effectiveAt, nonce } = wanted;
  return effectiveAt && nonce ? { effectiveAt: Number(effectiveAt), nonce: Number(nonce) } : null;
};

/** What the vault still owes, whatever was paid of it. */
const owedOf = ({ dispute, refunded }: At, paidOut = dispute.paidOut): number =>
  Math.max(0, payableOf(dispute) - refunded - paidOut);
/** The same as far as the chain is read, for what is paid next. */
const leftOf = (at: At, paidOut = at.dispute.paidOut): number => Math.max(0, owedOf(at, paidOut) - at.ahead);

/** Null where nothing is owed, or the vault holds nothing: later contributions pay. */
async function nextPart(at: At): Promise<Part | null | "unavailable"> {
  const { dispute, on } = at;
  const left = leftOf(at);
  if (left === 0) return null;
  const read = await readVault(on, dispute.providerDid);
  if (!read.ok) return "unavailable";
  const amount = Math.min(left, Number(read.value.balance));
  return amount > 0 ? { before: dispute.paidOut, amount } : null;
}

/** The part is stored before anything is sent, so that a crash repeats just this one. */
async function begin({ db }: Deps, { operation }: At, { before, amount }: Part): Promise<void> {
  const now = Date.now();
  const wanted = { before: String(before), amount: String(amount) };
  await commit(db, [
    whileOperation(db, operation),
    // Later than what anybody has read of it.
    wantAgain(db, operation, wanted, now),
  ]);
}

/** Until contributions come, or for good where nothing is owed any more, or the contract pays no more. */
async function later(deps: Deps, at: At): Promise<boolean> {
  const { db } = deps;
  const { operation, transaction } = at;
  const over = owedOf(at) === 0;
  const now = Date.now();
  if (!over && now > transaction.settledAt + PAYOUT_DAYS_MAX * DAY_MS) return givenUp(deps, at, "expired");
  await commitAll(deps, [
    whileOperation(db, operation),
    checkAt(db, operation, over ? null : now + (leftOf(at) === 0 ? MINUTE_MS : HOUR_MS), now),
    ...progress(deps, at, {
      ...paidColumns(at, at.dispute.paidOut),
      refundStatus: over ? "paid" : "owed",
      owed: owedOf(at),
    }),
  ]);
  return true;
}

/** The contract refuses it for good, and an operator looks. */
async function givenUp(deps: Deps, at: At, reason: string): Promise<boolean> {
  const { db } = deps;
  const { operation, dispute } = at;
  const now = Date.now();
  await commitAll(deps, [
    whileOperation(db, operation),
    putOperation(db, operation, { wanted: {}, status: "failed", reason, txHash: null, nextCheckAt: null }, now),
    checkAt(db, operation, null, now),
    ...progress(deps, at, { refundStatus: "outstanding", owed: 0 }),
    raiseAlert(db, refused(dispute, reason)),
  ]);
  return true;
}

async function noted(deps: Deps, at: At, part: Part, driven: DrivenTo<ActOnChain>, booked: number): Promise<boolean> {
  const { db } = deps;
  const { operation, dispute } = at;
  const now = Date.now();
  if (driven.state === "failed") return failed(deps, at, part, driven.reason, booked);
  const scheduled = driven.state === "done" ? driven.onChain.scheduled : null;
  if (driven.state === "done" && scheduled === null) return hasPaid(deps, at, part, driven.txHash);
  const known = scheduled ?? knownOf(operation);
  const wanted = {
    before: String(part.before),
    amount: String(part.amount),
    ...(known && { effective_at: String(known.effectiveAt), nonce: String(known.nonce) }),
  };
  const reason = driven.state === "waiting" ? driven.reason : "scheduled";
  const nextCheckAt = scheduled ? Math.max(scheduled.effectiveAt + SECOND_MS, now + MINUTE_MS) : firstCheck(now);
  const sent: RefundStatus = scheduled || driven.txHash !== null ? "sent" : dispute.refundStatus;
  await commitAll(deps, [
    whileOperation(db, operation),
    putOperation(db, operation, { wanted, status: "waiting", reason, txHash: driven.txHash, nextCheckAt }, now),
    checkAt(db, operation, nextCheckAt, now),
    ...progress(deps, at, { refundStatus: sent }),
  ]);
  return driven.state !== "waiting";
}

async function hasPaid(deps: Deps, at: At, part: Part, txHash: string | null): Promise<boolean> {
  const { db } = deps;
  const { operation, dispute } = at;
  const now = Date.now();
  if (operation.status === "done" && txHash === null) {
    const checks = operation.checks + 1;
    await commitAll(deps, [noteCheck(db, operation, checks, nextCheck(checks, now))]);
    return true;
  }
  const paidOut = part.before + part.amount;
  const owed = owedOf(at, paidOut);
  // Of one that goes on the next part is looked for at its next check.
  const wanted = owed === 0 ? { before: String(part.before), amount: String(part.amount) } : {};
  const status = owed === 0 ? "done" : "waiting";
  const nextCheckAt = owed === 0 ? firstCheck(now) : now + HOUR_MS;
  await commitAll(deps, [
    whileOperation(db, operation),
    putOperation(db, operation, { wanted, status, reason: null, txHash, nextCheckAt }, now),
    checkAt(db, operation, nextCheckAt, now),
    ...progress(deps, at, { ...paidColumns(at, paidOut), owed, refundStatus: owed === 0 ? "paid" : "owed" }),
  ]);
  await nudgeReserve(deps, { ...dispute, refundFrom: null });
  return true;
}

const paidColumns = ({ dispute, refunded }: At, paidOut: number) => ({
  paidOut,
  bountyPaid: Math.min(dispute.bounty, Math.max(0, paidOut + refunded - dispute.refund)),
});

/** What the database has forgotten, the contract's events tell (CHN-24): then the next part is another one. */
async function failed(deps: Deps, at: At, part: Part, reason: string, booked: number): Promise<boolean> {
  const { db } = deps;
  const { operation, dispute } = at;
  const now = Date.now();
  const forgotten = reason === "UnknownSettlement" && booked !== part.before;
  if (forgotten || reason === "ExceedsVault") {
    const owed = owedOf(at, booked);
    await commitAll(deps, [
      whileOperation(db, operation),
      wantAgain(db, operation, {}, now),
      checkAt(db, operation, now + (forgotten ? 0 : MINUTE_MS), now),
      ...progress(deps, at, forgotten ? { ...paidColumns(at, booked), owed } : {}),
    ]);
    return true;
  }
  if (reason === "UnknownSettlement" || reason === "cancelled") return givenUp(deps, at, reason);
  await commitAll(deps, [
    whileOperation(db, operation),
    checkAt(db, operation, now + HOUR_MS, now),
    raiseAlert(db, refused(dispute, reason)),
  ]);
  return true;
}

/** What changes of the dispute is told; what its vault owes less is not kept back any more. */
function progress(deps: Deps, { dispute, escrow, now }: At, set: Partial<DisputeRow>): Statement[] {
  const { db } = deps;
  const row: DisputeRow = { ...dispute, ...set };
  const claim = { disputed: 0, owed: row.owed - dispute.owed };
  const changed = Object.keys(set).some((name) => row[name as keyof DisputeRow] !== dispute[name as keyof DisputeRow]);
  return [
    ...(changed ? [...noteRefund(db, dispute, set), ...told(deps, row, now)] : []),
    ...(claim.owed !== 0 && escrow
      ? [...moveClaim(db, escrow, claimed(escrow, claim), claim), wantReserve(db, dispute)]
      : []),
  ];
}

const refused = ({ disputeId, network }: DisputeRow, reason: string): Alert => ({
  kind: "award",
  subject: `${disputeId} on ${network}`,
  message: `The contract refused to pay an award: ${reason}.`,
});

export const payAwards: EachJob = {
  kind: "each",
  name: "pay_awards",
  find: async ({ db }, after, limit) => {
    const { due } = await readBatch(db, { due: findUnchecked(db, "payout", Date.now(), after ?? FIRST, limit) });
    return due;
  },
  record: async ({ env }, id) => {
    const [network = "", disputeId = ""] = id.split(" ");
    await env.CHAIN_QUEUE.send({ kind: "pay_award", network, disputeId });
    return true;
  },
};
