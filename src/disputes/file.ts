// Files a dispute about a settlement (DSP-1 to DSP-6), by the agent that paid or by its platform.
import { type Precheck, precheck } from "../call.ts";
import { requireNetwork } from "../chain/networks.ts";
import { commitAll } from "../commit.ts";
import { type FieldError, ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import { DAY_MS, DISPUTE_ANSWER_DAYS } from "../core/limits.ts";
import { Conflict } from "../core/retry.ts";
import { isDecimal, parseAmount } from "../core/text.ts";
import { type ReadResults, readBatch } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { TransactionRow } from "../db/tables/money.ts";
import { findSellerIn } from "../identity/authority-store.ts";
import { recordEventForParties } from "../journal/events.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { prepareClosingReads } from "../tasks/close.ts";
import { closeAtWindowEnd } from "../tasks/confirm.ts";
import { holdTask } from "../tasks/verdict.ts";
import { type Caller, CONSUMER_CLOCK, type PartyCall, pickSides, readAs } from "./case.ts";
import { applyEffect, recordFilingNotice, toFoundSeller } from "./effects.ts";
import { noteFiling } from "./evidence.ts";
import { queueReserve } from "./reserve.ts";
import type { DisputeInput, DisputeView } from "./schema.ts";
import { findDisputable, findLatestDispute, findSellersAccount, insertDispute, refuseReversed } from "./store.ts";
import { computeBounty, toDisputeReason } from "./terms.ts";
import { toDisputeView } from "./views.ts";

const ONE_UNIT = 1;

const pickSettlementId = ({ transaction_id, facilitation_id }: Partial<DisputeInput>): string =>
  transaction_id ?? facilitation_id ?? "";

const buildFilingReads = ({ db }: PartyCall, id: string) => ({
  found: findDisputable(db, id),
  latest: findLatestDispute(db, id),
  seller: findSellerIn(db, id),
  sellersAccount: findSellersAccount(db, id),
});
type Filing = ReadResults<ReturnType<typeof buildFilingReads>>;

export async function fileDispute(call: PartyCall, input: DisputeInput): Promise<DisputeView> {
  const filed = await retryUnderLocks(call.deps.env, (touches) => fileOnce(call, input, touches));
  call.background(queueReserve(call.deps, filed.row));
  return filed.view;
}

async function fileOnce(call: PartyCall, input: DisputeInput, touches: (dids: readonly string[]) => void) {
  const { db, deps, now } = call;
  const { caller, ...facts } = await readAs(call, buildFilingReads(call, pickSettlementId(input)), CONSUMER_CLOCK);
  const { transaction, task, refunded, clockOffsetMs } = requireDisputable(call, caller, facts);
  const disputed = parseDisputedAmount(call, transaction, input);
  refuseFiling(transaction, facts.latest, now);
  if (!task) throw new ServiceError("forbidden", { message: ONE_PRINCIPAL });
  touches([transaction.providerDid, transaction.consumerDid]);
  if (task.status === "open" && now >= task.confirmBy) await recordEnd(call, task.taskId, now);
  const row = toDisputeRow(call, { ...transaction, taskId: task.taskId }, disputed, facts.latest);
  const held = task.status === "open";
  const dispute = {
    ...row,
    ...toStoredWords(input),
    heldMs: held ? task.confirmBy - now : null,
    refundedBefore: refunded,
    bounty: computeBounty(disputed, requireNetwork(deps.config.networks, transaction.network).decimals),
  };
  const effect = { provider: { open: 1 }, consumer: { open: 1 }, claim: { disputed, owed: 0 } };
  const found = toFoundSeller(facts.seller, clockOffsetMs);
  const view = toDisputeView(deps.config, dispute, now);
  await call.commit(
    [
      insertDispute(db, dispute),
      // A reversed settlement voids an open task, so holding the task is guard enough.
      ...(held ? holdTask(db, task) : [refuseReversed(db, transaction.transactionId)]),
      ...applyEffect(deps, dispute, found, effect, now).statements,
      ...recordEventForParties(db, dispute, now, { type: "dispute.filed", object: view }),
      ...noteFiling(call, caller, dispute, { now, apart: found.apart }),
      ...recordFilingNotice(deps, facts.sellersAccount, dispute),
    ],
    view,
  );
  return { row: dispute, view };
}

/** Records the end of the task's window first, so that the retry files a dispute about a closed task. */
async function recordEnd({ deps }: PartyCall, taskId: string, now: number): Promise<never> {
  const facts = await readBatch(deps.db, prepareClosingReads(deps.db, taskId));
  if (facts.task?.task.status === "open") await commitAll(deps, closeAtWindowEnd(deps, facts, now));
  throw new Conflict(new Error("the task has just closed"));
}

/** A settlement that was never facilitated, or belongs to other platforms, is unknown here (404). The provider's side gets 403. */
function requireDisputable(call: PartyCall, caller: Caller, { found }: Pick<Filing, "found">) {
  if (!found || found.transaction.reversedAt !== null) throw new ServiceError("facilitation_not_found");
  const { transaction } = found;
  const sides = pickSides(call, caller, transaction);
  if (sides.includes("consumer")) {
    if (caller.environment !== transaction.environment) throw new ServiceError("environment_mismatch");
    return found;
  }
  if (call.surface === "management" && sides.length === 0) throw new ServiceError("facilitation_not_found");
  throw new ServiceError("forbidden", { message: "Only the consumer of a transaction can dispute it." });
}

function parseDisputedAmount({ deps }: PartyCall, transaction: TransactionRow, input: Partial<DisputeInput>): number {
  const faults = findValueFaults(deps.config.networks, transaction, input);
  if (faults.length > 0) throw toValidationError(faults);
  const { decimals } = requireNetwork(deps.config.networks, transaction.network);
  const parsed = parseAmount(input.disputed_amount ?? "", decimals);
  if (!parsed.ok) throw new Error("unreachable: a faulty amount was refused");
  return parsed.units;
}

function findValueFaults(
  networks: Parameters<typeof requireNetwork>[0],
  transaction: TransactionRow,
  { disputed_amount: disputed, currency }: Partial<DisputeInput>,
): FieldError[] {
  const { decimals } = requireNetwork(networks, transaction.network);
  // The check of the form reports an amount that is not a decimal number.
  const parsed = disputed === undefined || !isDecimal(disputed) ? null : parseAmount(disputed, decimals);
  const fits = parsed === null || (parsed.ok && parsed.units >= ONE_UNIT && parsed.units <= transaction.gross);
  return [
    ...(fits ? [] : [toFieldError("disputed_amount", "invalid_disputed_amount")]),
    ...(currency === undefined || currency === transaction.currency
      ? []
      : [toFieldError("currency", "invalid_value", `The transaction was settled in ${transaction.currency}.`)]),
  ];
}

const ONE_PRINCIPAL = "A payment between agents of one principal cannot be disputed.";

/** The checks are in the order of DSP-3. */
function refuseFiling(transaction: TransactionRow, latest: DisputeRow | null, now: number): void {
  if (transaction.taskId === null) throw new ServiceError("forbidden", { message: ONE_PRINCIPAL });
  const { disputeWindowClosesAt: closesAt } = transaction;
  if (closesAt === null) throw new ServiceError("final_sale");
  // An existing dispute is reported before the closed window, because it says more.
  const again = latest?.resolution === "withdrawn" && latest.endedBy === "consumer" && latest.attempt === 1;
  if (latest && !again)
    throw new ServiceError("dispute_exists", { detail: { dispute_id: latest.disputeId, status: latest.status } });
  if (now >= closesAt)
    throw new ServiceError("dispute_window_expired", { detail: { closed_at: new Date(closesAt).toISOString() } });
}

function toStoredWords({ reason, description, resolution_sought: sought }: DisputeInput) {
  const named = toDisputeReason(reason);
  if (named === null) throw new Error("unreachable: an unknown reason was refused");
  return { reason: named, description: description || null, resolutionSought: sought || null };
}

function toDisputeRow(
  { now, deps }: PartyCall,
  transaction: TransactionRow & { readonly taskId: string },
  disputed: number,
  latest: DisputeRow | null,
): Omit<DisputeRow, "reason" | "description" | "resolutionSought" | "heldMs" | "bounty" | "refundedBefore"> {
  const { transactionId, taskId, environment, consumerDid, providerDid, network, currency, gross } = transaction;
  const { consumerPlatformId, providerPlatformId, contract, settlementKey } = transaction;
  const answersUntil = now + DISPUTE_ANSWER_DAYS * DAY_MS;
  return {
    // The id is drawn by real time, so that operators list the disputes of all sandboxes in the order of filing.
    disputeId: createId("dsp", deps.clock.now()),
    ...{ transactionId, taskId, environment, consumerDid, providerDid, consumerPlatformId, providerPlatformId },
    ...{ network, currency, gross, contract, settlementKey },
    attempt: (latest?.attempt ?? 0) + 1,
    status: "pre_arbitration",
    disputed,
    filedAt: now,
    answersUntil,
    dueAt: answersUntil,
    ...{ respondedAt: null, offer: null, messages: 0, evidence: 0, consumerEvidence: 0, arbitrationAt: null },
    ...{ resolution: null, resolvedAt: null, endedBy: null, finding: null },
    ...{
      refund: 0,
      refundFrom: null,
      refundStatus: "none",
      owed: 0,
      paidOut: 0,
      bountyPaid: 0,
      partsRemade: 0,
      bountyBy: null,
    },
  };
}

/** Finds the faults of the input that need the settlement. */
export function precheckFiling(call: PartyCall, input: Partial<DisputeInput>): Precheck {
  return precheck<{ found: ReturnType<typeof findDisputable> }, Caller>(
    { found: findDisputable(call.db, pickSettlementId(input)) },
    ({ found, caller }) => {
      if (pickSettlementId(input) === "") return [];
      const { transaction } = requireDisputable(call, caller, { found });
      return findValueFaults(call.deps.config.networks, transaction, input);
    },
  );
}
