// Ends a dispute (DSP-11 to DSP-15): the dispute, its task, both ratings, the provider's escrow, and the amount owed change together or not at all.
import { putAwaitedRefund, requestOperation } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import { move } from "../core/machine.ts";
import type { RefundStatus, Resolution, Verdict } from "../core/vocabulary.ts";
import type { Database, ReadResults, Statement } from "../db/batch.ts";
import { computeClockDifference } from "../db/clock.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { recordEventForParties } from "../journal/events.ts";
import type { EscrowTurned } from "../tasks/close.ts";
import {
  type AppliedVerdict,
  closeHeldTask,
  computeResumedWindowEnd,
  replaceVerdict,
  resumeTask,
  verdictReads,
} from "../tasks/verdict.ts";
import { applyClaim, countBothAgents, type Effect, type FoundSeller } from "./effects.ts";
import type { DisputeView } from "./schema.ts";
import { computeRefundDue, type DisputeTrigger, disputeMachine } from "./states.ts";
import { findRefundedDispute, moveDispute, selectTaskOfDispute } from "./store.ts";
import { computePartialScore, computeRefundPayable } from "./terms.ts";
import { toDisputeView } from "./views.ts";

/** Reads everything that an end needs in one trip of constant size. */
export const buildEndingReads = (db: Database, disputeId: string) => ({
  found: findRefundedDispute(db, disputeId),
  ...verdictReads(db, selectTaskOfDispute(disputeId)),
});
export type EndingFacts = ReadResults<ReturnType<typeof buildEndingReads>>;

export const pickSeller = ({ found, provider, markets, escrows }: EndingFacts): FoundSeller => ({
  apart: found ? computeClockDifference(found) : 0,
  provider,
  markets,
  escrows,
});

/** `refund`: base units. `from`: the payer; null if nothing is refunded. */
export type Ending = {
  readonly trigger: DisputeTrigger;
  readonly resolution: Resolution;
  readonly refund: number;
  readonly from: DisputeRow["refundFrom"];
  readonly endedBy: DisputeRow["endedBy"];
  readonly finding?: string;
};

export type Ended = { readonly statements: Statement[]; readonly row: DisputeRow; readonly view: DisputeView };

export function endDispute(deps: Deps, facts: EndingFacts, before: DisputeRow, ending: Ending, now: number): Ended {
  const { db } = deps;
  const set = toEndingColumns(facts, before, ending, now);
  const row: DisputeRow = { ...before, ...set, status: "resolved" };
  const effect = toEndingEffect(row);
  const applied = applyClaim(deps, before, pickSeller(facts), effect.claim, now);
  const task = endTask(deps, { ...facts, escrows: [...applied.escrows], turned: applied.turned }, row, now);
  const view = toDisputeView(deps.config, row, now);
  return {
    row,
    view,
    statements: [
      ...moveDispute(db, before, move(disputeMachine, before.status, ending.trigger), set),
      ...applied.statements,
      // The provider's rating reports its escrow too.
      ...(task.rated.provider ? [] : applied.told),
      ...countBothAgents(deps, before, effect, applied, task.rated),
      ...task.statements,
      ...startRefund(deps, row, now),
      ...recordEventForParties(db, before, now, { type: "dispute.resolved", object: view }),
    ],
  };
}

function toEndingColumns({ task, found }: EndingFacts, before: DisputeRow, ending: Ending, now: number) {
  // deadlines.ts and payout.ts account for refunds that are booked after the end.
  const refundedBefore = Math.max(before.refundedBefore, found?.earlier ?? 0);
  const since = Math.max(0, (found?.refunded ?? 0) - refundedBefore);
  const { resolution, refund, from, endedBy, finding = null } = ending;
  const bountyBy =
    WINNERS[resolution] === "consumer" ? "provider" : WINNERS[resolution] === "provider" ? "consumer" : null;
  const payable = computeRefundPayable({ gross: before.gross, refundedBefore, refund });
  const owes: RefundStatus = from !== null && payable > 0 ? "owed" : "none";
  const resumes = resolution === "withdrawn" && before.heldMs !== null && task?.task.status === "disputed";
  const unpaid = Math.max(0, payable - since - before.paidOut);
  // If the provider does not pay the refund itself, an arbiter may still award the whole disputed amount.
  const owed = owes === "none" ? 0 : from === "vault" ? unpaid : before.disputed;
  const resumed = resumes ? computeResumedWindowEnd(before.heldMs ?? 0, now) : null;
  return {
    resolution,
    refund,
    refundedBefore,
    bountyBy,
    owed,
    endedBy,
    finding,
    refundFrom: owes === "owed" ? from : null,
    refundStatus: owes,
    resolvedAt: now,
    dueAt:
      owes === "owed" && from === "provider"
        ? since >= Math.min(refund, before.gross - refundedBefore)
          ? now
          : computeRefundDue(now)
        : resumed,
  } as const;
}

/** A settled or withdrawn dispute has no loser. */
const WINNERS: Readonly<Record<Resolution, "consumer" | "provider" | null>> = {
  upheld: "consumer",
  partially_upheld: "consumer",
  rejected: "provider",
  settled: null,
  withdrawn: null,
};

/** The counts of an end. They are reversed if the dispute goes to the arbiter after all. */
export function toResolutionCounts(resolution: Resolution): Pick<Effect, "provider" | "consumer"> {
  const winner = WINNERS[resolution];
  const of = (side: "consumer" | "provider") => ({
    open: -1,
    for: winner === side ? 1 : 0,
    against: winner !== null && winner !== side ? 1 : 0,
  });
  return { provider: of("provider"), consumer: of("consumer") };
}

const toEndingEffect = (row: DisputeRow): Effect => ({
  ...toResolutionCounts(row.resolution ?? "withdrawn"),
  claim: { disputed: -row.disputed, owed: row.owed },
});

const VERDICTS: Readonly<Record<Resolution, Verdict | null>> = {
  upheld: "upheld",
  partially_upheld: "partially_upheld",
  rejected: "rejected",
  settled: null,
  withdrawn: null,
};

const TASK_UNCHANGED: AppliedVerdict = { statements: [], rated: { provider: false, consumer: false } };

function endTask(deps: Deps, facts: EndingFacts & EscrowTurned, row: DisputeRow, now: number): AppliedVerdict {
  const task = facts.task?.task;
  const { resolution, heldMs, filedAt } = row;
  if (!task || resolution === null || task.status === "void") return TASK_UNCHANGED;
  if (resolution === "withdrawn") {
    if (task.status !== "disputed") return TASK_UNCHANGED;
    return { ...TASK_UNCHANGED, statements: resumeTask(deps.db, task, { left: heldMs ?? 0, filedAt }, now) };
  }
  const verdict = VERDICTS[resolution];
  const score = computePartialScore(row.refund, row.gross);
  const verdictScore = verdict === "partially_upheld" ? score : null;
  const closed = toTaskOutcome(resolution, score);
  if (task.status === "disputed") return closeHeldTask(deps, facts, { ...closed, verdict, verdictScore }, filedAt, now);
  // If the dispute comes to the arbiter after a concession, the task that the concession closed gets a new outcome. A task that had closed before
  // the filing keeps the consumer's answer.
  const ended = heldMs === null ? {} : { ...closed, answer: closed.outcome };
  if (heldMs === null && verdict === task.verdict && verdictScore === task.verdictScore) return TASK_UNCHANGED;
  return replaceVerdict(deps, facts, { ...ended, verdict, verdictScore }, now);
}

function toTaskOutcome(resolution: Resolution, score: number) {
  if (resolution === "upheld") return { outcome: "rejected", score: 0 } as const;
  if (resolution === "rejected") return { outcome: "confirmed", score: 1 } as const;
  return { outcome: "partial", score } as const;
}

/** Starts the payment in the same batch, so that the jobs continue it after a crash. */
function startRefund({ db }: Deps, row: DisputeRow, now: number): Statement[] {
  const { network, disputeId } = row;
  if (row.refundFrom === "vault")
    return [requestOperation(db, { network, kind: "payout", subject: disputeId }, {}, Date.now())];
  if (row.refundFrom !== "provider") return [];
  // Block times are real time.
  return [awaitDisputeRefund({ db }, row, computeRefundDue(now) - (now - Date.now()))];
}

/** The awaited amount includes refunds from before the filing, because the follower adds up all refunds of the settlement. `until`: real time. */
export function awaitDisputeRefund({ db }: Pick<Deps, "db">, row: DisputeRow, until: number): Statement {
  const { network, contract, settlementKey, gross, refund, refundedBefore } = row;
  const amount = Math.min(gross, refundedBefore + refund);
  return putAwaitedRefund(db, { network, contract, settlementKey, amount, until }, Date.now());
}

/** How far the clock that rules a dispute is ahead of real time. */
export const pickClockOffset = ({ found }: Pick<EndingFacts, "found">): number => found?.clockOffsetMs ?? 0;
