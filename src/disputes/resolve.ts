// The ends of disputes that no party decides: the arbiter's verdict with its signed award (DSP-16), and a reorg that removed the settlement (FAC-18).
// Also lists all disputes for operators.
import { type OperatorCall, readPage } from "../call.ts";
import { formatTokenUnits, requireNetwork, toCaip2 } from "../chain/networks.ts";
import { dropOperation } from "../chain/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { SECOND_MS } from "../core/limits.ts";
import { move, tryMove } from "../core/machine.ts";
import { hashListing, type Page } from "../core/page.ts";
import { Conflict } from "../core/retry.ts";
import { parseAmount } from "../core/text.ts";
import type { Statement } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { recordEventForParties } from "../journal/events.ts";
import { recordOperatorEntry } from "../journal/operator-log.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { signAward } from "../protocol/award.ts";
import { verdictReads } from "../tasks/verdict.ts";
import { isSettlementReversed, recordEscalation } from "./deadlines.ts";
import {
  applyEffect,
  type Effect,
  type FoundSeller,
  type Rated,
  recordDecisionNotices,
  reverseCounts,
} from "./effects.ts";
import { type Ended, endDispute, pickClockOffset, toResolutionCounts } from "./end.ts";
import { noteDecision } from "./evidence.ts";
import { listAllDisputes } from "./list-store.ts";
import { queueReserve } from "./reserve.ts";
import type { DisputeFile } from "./responses.ts";
import type { DisputeView, OperatorDisputeQuery, VerdictInput } from "./schema.ts";
import { disputeMachine, toEffectiveDispute } from "./states.ts";
import {
  dropAward,
  findBothAccounts,
  findDispute,
  findEvidence,
  findMessages,
  findRefundedDispute,
  moveDispute,
  putAward,
  type RefundedDispute,
  selectTaskOfDispute,
} from "./store.ts";
import { toDisputeFile, toDisputePage, toDisputeView } from "./views.ts";

export async function getAllDisputes(call: OperatorCall, query: OperatorDisputeQuery): Promise<Page<DisputeView>> {
  const { db, deps } = call;
  const filter = { status: query.status, platformId: query.platform_id, environment: query.environment };
  const page = await readPage(call, query, hashListing("all disputes", [], filter));
  const real = deps.clock.now();
  const { found } = await call.read({ found: listAllDisputes(db, filter, real, page) });
  return toDisputePage(deps.config, found, page, real);
}

type DisputePath = { readonly dispute_id: string };

export const findNamedDispute = ({ db }: OperatorCall, { dispute_id }: DisputePath) => findDispute(db, dispute_id);
export const findNamedRefunded = ({ db }: OperatorCall, { dispute_id }: DisputePath) =>
  findRefundedDispute(db, dispute_id);

export async function resolveDispute(
  call: OperatorCall<RefundedDispute>,
  disputeId: string,
  input: VerdictInput,
): Promise<DisputeFile> {
  const { db, deps } = call;
  const done = await retryUnderLocks(deps.env, async (touches) => {
    const reads = {
      ...verdictReads(db, selectTaskOfDispute(disputeId)),
      messages: findMessages(db, disputeId),
      evidence: findEvidence(db, disputeId),
      ...findBothAccounts(db, disputeId),
    };
    const {
      caller,
      object: found,
      messages,
      evidence,
      sellersAccount,
      buyersAccount,
      ...read
    } = await call.read(reads);
    const facts = { ...read, found };
    const { dispute: before } = found;
    touches([before.providerDid, before.consumerDid]);
    const now = deps.clock.now() + pickClockOffset(facts);
    const present = toEffectiveDispute(before, now);
    const refund = parseAwardedRefund(call, before, input);
    if (!tryMove(disputeMachine, present.status, "resolve").ok) throw toNotInArbitrationError(present);
    if (isSettlementReversed(facts)) throw toReversedSettlementError(present);
    // If no job has recorded that the parties' days are over, this call does.
    if (before.status !== present.status) {
      await commitAll(deps, recordEscalation(deps, before, "days_end", before.answersUntil, now).statements);
      throw new Conflict(new Error("the dispute has just come to its arbiter"));
    }
    const ending = {
      trigger: "resolve" as const,
      resolution: input.resolution,
      refund,
      from: refund > 0 ? ("vault" as const) : null,
      endedBy: "arbiter" as const,
      finding: input.reason,
    };
    const ended = endDispute(deps, facts, before, ending, now);
    const award = await signDisputeAward(call, ended.row, now);
    const view = toDisputeFile(deps.config, { dispute: ended.row, award, messages, evidence }, now);
    await call.commit(
      [
        ...ended.statements,
        putAward(db, disputeId, award),
        ...recordDecisionNotices(deps, { sellersAccount, buyersAccount }, ended.row),
        ...noteDecision(db, caller.actor, found, view, now),
        recordOperatorEntry(db, caller.actor, deps.clock.now(), {
          action: "dispute.resolved",
          subject: { type: "dispute", id: disputeId },
          platformId: before.consumerPlatformId,
          detail: { resolution: input.resolution, refund_amount: view.refund_amount },
        }),
      ],
      view,
    );
    return { ended, view };
  });
  call.background(queueReserve(deps, done.ended.row));
  return done.view;
}

const toNotInArbitrationError = ({ status, resolution }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: `The dispute is in ${status}: an arbiter can decide it only in arbitration.`,
    detail: { status, ...(resolution !== null && { resolution }) },
  });

const toReversedSettlementError = ({ status }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: "A reorg removed the settlement: there is nothing to decide.",
    detail: { status },
  });

/** The arbiter awards all that is disputed unless the input names less. */
function parseAwardedRefund(
  { deps }: OperatorCall,
  { network, disputed }: DisputeRow,
  { resolution, refund_amount: given }: VerdictInput,
): number {
  if (resolution === "rejected") return 0;
  if (given === undefined || given === null) return disputed;
  const parsed = parseAmount(given, requireNetwork(deps.config.networks, network).decimals);
  if (!parsed.ok) throw toValidationError([toFieldError("refund_amount", parsed.fault)]);
  if (parsed.units === 0) throw toValidationError([toFieldError("refund_amount", "too_small")]);
  if (parsed.units <= disputed) return parsed.units;
  throw toValidationError([toFieldError("refund_amount", "too_big", "Must be at most the disputed amount.")]);
}

async function signDisputeAward({ deps }: OperatorCall, row: Ended["row"], now: number): Promise<string> {
  const network = requireNetwork(deps.config.networks, row.network);
  const amount = (units: number) => formatTokenUnits(network, units);
  const { resolution, bountyBy } = row;
  if (resolution === null || resolution === "settled" || resolution === "withdrawn" || bountyBy === null)
    throw new Error("unreachable: an arbiter decides for one side");
  const { signing } = await deps.ca();
  return signAward(
    {
      iss: deps.config.issuer,
      iat: Math.floor(deps.clock.now() / SECOND_MS),
      jti: row.disputeId,
      environment: row.environment,
      transaction_id: row.transactionId,
      provider_did: row.providerDid,
      consumer_did: row.consumerDid,
      network: row.network,
      caip2: toCaip2(network),
      contract: row.contract,
      settlement_key: row.settlementKey,
      reason: row.reason,
      resolution,
      disputed_amount: amount(row.disputed),
      refund_amount: amount(row.refund),
      bounty_amount: amount(row.bounty),
      bounty_owed_by: bountyBy,
      currency: row.currency,
      finding: row.finding ?? "",
      filed_at: toIso(row.filedAt),
      resolved_at: toIso(now),
    },
    signing,
  );
}

// ---- A settlement that a reorg removed -------------------------------------------------------------------------------------

type Reversed = {
  readonly escrows: readonly EscrowRow[];
  readonly turned: boolean;
  readonly statements: Statement[];
};

/** `paidOut`: what the vault paid for the settlement, by the chain after the reorg. */
type Reversal = { readonly rated: Rated; readonly paidOut: number };

/**
 * Ends a dispute even if it had ended before: neither side wins, and nothing is owed. If the payment is mined again, it is facilitated again and can
 * be disputed again. `found`: the rows as the batch leaves them before these statements; the result's `escrows`: as it leaves them after.
 */
export function reverseDispute(
  deps: Deps,
  before: DisputeRow | null,
  found: FoundSeller,
  { rated, paidOut }: Reversal,
  now: number,
): Reversed {
  // A withdrawn dispute has no effect that would have to be reversed.
  if (before === null || before.resolution === "withdrawn")
    return { escrows: found.escrows, turned: false, statements: [] };
  const set = {
    ...NOTHING_OWED,
    paidOut,
    resolution: "withdrawn",
    endedBy: "reversal",
    resolvedAt: now,
    dueAt: null,
  } as const;
  const ended: DisputeRow = { ...before, ...set, status: "resolved" };
  const applied = applyEffect(deps, before, found, { ...reverseEffect(before), rated }, now);
  return {
    ...applied,
    statements: [
      ...moveDispute(deps.db, before, move(disputeMachine, before.status, "reverse"), set),
      ...applied.statements,
      dropAward(deps.db, before.disputeId),
      ...dropRefundOperation(deps, before),
      ...recordEventForParties(deps.db, before, now, {
        type: "dispute.resolved",
        object: toDisputeView(deps.config, ended, now),
      }),
    ],
  };
}

const NOTHING_OWED = {
  refund: 0,
  refundFrom: null,
  refundStatus: "none",
  owed: 0,
  bountyBy: null,
  bountyPaid: 0,
} as const;

/** The reverse of what the filing, or the end, counted and claimed. */
function reverseEffect({ resolution, disputed, owed }: DisputeRow): Effect {
  if (resolution === null) return { ...toResolutionCounts("withdrawn"), claim: { disputed: -disputed, owed: 0 } };
  const { provider, consumer } = toResolutionCounts(resolution);
  return {
    provider: reverseCounts(provider, 0),
    consumer: reverseCounts(consumer, 0),
    claim: { disputed: 0, owed: -owed },
  };
}

/** Stops awaiting the provider's refund, or paying out of its vault. */
function dropRefundOperation({ db }: Deps, { network, refundFrom, disputeId, settlementKey }: DisputeRow): Statement[] {
  if (refundFrom === null) return [];
  return [
    refundFrom === "vault"
      ? dropOperation(db, { network, kind: "payout", subject: disputeId })
      : dropOperation(db, { network, kind: "refund", subject: settlementKey }),
  ];
}
