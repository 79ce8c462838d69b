// Records the deadlines of disputes (DSP-7, DSP-12): the parties' days are over, the arbiter is late, or a refund did not come. The job may run late
// or twice: it decides each case again from the stored row, on the clock that rules the dispute.
import { findOperation } from "../chain/store.ts";
import { commitAll } from "../commit.ts";
import type { Deps } from "../context.ts";
import { BEFORE_FIRST_DUE } from "../core/clock.ts";
import { CHAIN_LOOK_MS, MINUTE_MS } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import { type Database, readBatch, type Statement } from "../db/batch.ts";
import type { Timed } from "../db/clock.ts";
import { compileReads } from "../db/compiled.ts";
import type { OperationRow } from "../db/tables/chain.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EachJob, SetResult } from "../jobs/job.ts";
import { type Alert, raiseAlert } from "../journal/alerts.ts";
import { recordEventForParties } from "../journal/events.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import { autoConfirmTasks } from "../tasks/confirm.ts";
import { applyClaim, applyEffect, reverseCounts } from "./effects.ts";
import {
  awaitDisputeRefund,
  buildEndingReads,
  type EndingFacts,
  pickClockOffset,
  pickSeller,
  toResolutionCounts,
} from "./end.ts";
import { queueReserve } from "./reserve.ts";
import type { DisputeView } from "./schema.ts";
import { computeArbitrationDue, computeRefundDue, disputeMachine } from "./states.ts";
import {
  findDisputes,
  findDueDisputes,
  findRefundSight,
  moveDispute,
  type RefundSight,
  updateRefund,
} from "./store.ts";
import { toDisputeView } from "./views.ts";

export const endDisputeDays: EachJob = {
  kind: "each",
  name: "end_dispute_days",
  // A dispute that is recorded alone takes up to fifty statements.
  part: 10,
  find: async (deps, after, limit) => {
    const { due } = await readBatch(deps.db, {
      due: findDueDisputes(deps.db, deps.clock.now(), after ?? BEFORE_FIRST_DUE, limit),
    });
    return due;
  },
  record: recordAll,
  recordSet: escalateSet,
};

/** Escalates all disputes whose parties' days are over, in one batch. Other deadlines have more consequences and are recorded alone. */
async function escalateSet(deps: Deps, disputeIds: readonly string[]): Promise<SetResult> {
  const { db, clock } = deps;
  const found = await readBatch(db, readSeveral(db, JSON.stringify(disputeIds)));
  const nowOf = ({ clockOffsetMs }: Timed<DisputeRow>) => clock.now() + clockOffsetMs;
  const due = found.disputes.filter((one) => one.dueAt !== null && one.dueAt <= nowOf(one));
  const ended = due.filter((one) => !one.takenAway && hasOnlyDaysEnded(one, nowOf(one)));
  const statements = ended.flatMap(({ clockOffsetMs, takenAway, ...before }) => {
    const now = clock.now() + clockOffsetMs;
    return recordEscalation(deps, before, "days_end", before.answersUntil, now).statements;
  });
  if (statements.length > 0) await commitAll(deps, statements);
  const others = due.filter((one) => !ended.includes(one)).map(({ disputeId }) => disputeId);
  return { done: ended.length, alone: disputeIds.filter((id) => others.includes(id)) };
}

const hasOnlyDaysEnded = ({ status, answersUntil }: DisputeRow, now: number): boolean =>
  status !== "resolved" &&
  status !== "arbitration" &&
  (computeArbitrationDue({ arbitrationAt: answersUntil }) ?? 0) > now;

const readSeveral = compileReads((db, disputeIds) => ({ disputes: findDisputes(db, disputeIds) }));

/** A deadline may lead to another one that has passed too. */
const DEADLINES_IN_A_RUN = 4;

async function recordAll(deps: Deps, disputeId: string): Promise<boolean> {
  for (let step = 0; step < DEADLINES_IN_A_RUN; step++) if (!(await recordOne(deps, disputeId))) return step > 0;
  return true;
}

async function recordOne(deps: Deps, disputeId: string): Promise<boolean> {
  const { db } = deps;
  const done = await retryUnderLocks(deps.env, async (touches) => {
    const facts = await readBatch(db, buildEndingReads(db, disputeId));
    const before = facts.found?.dispute;
    const now = deps.clock.now() + pickClockOffset(facts);
    if (!before || before.dueAt === null || now < before.dueAt) return null;
    touches([before.providerDid, before.consumerDid]);
    if (isSettlementReversed(facts)) return clearDueAt(deps, before);
    if (before.status !== "resolved")
      return before.status === "arbitration" ? recordOverdueArbiter(deps, before) : recordDaysEnd(deps, before, now);
    if (before.resolution === "withdrawn") return recordResumedWindow(deps, before);
    return recordRefundDeadline(deps, facts, before, now);
  });
  if (done) await queueReserve(deps, done);
  return done !== null;
}

async function recordDaysEnd(deps: Deps, before: DisputeRow, now: number): Promise<DisputeRow> {
  const { statements, row } = recordEscalation(deps, before, "days_end", before.answersUntil, now);
  await commitAll(deps, statements);
  return row;
}

type Escalated = { readonly statements: Statement[]; readonly row: DisputeRow; readonly view: DisputeView };

/** `at`: the deadline from which the arbiter's 14 days count, however late it is recorded. */
export function recordEscalation(
  deps: Deps,
  before: DisputeRow,
  trigger: "escalate" | "days_end",
  at: number,
  now: number,
): Escalated {
  const set = { arbitrationAt: at, dueAt: computeArbitrationDue({ arbitrationAt: at }) };
  const row: DisputeRow = { ...before, ...set, status: "arbitration" };
  const view = toDisputeView(deps.config, row, now);
  return {
    row,
    view,
    statements: [
      ...moveDispute(deps.db, before, move(disputeMachine, before.status, trigger), set),
      alertOperator(deps.db, before),
      ...recordEventForParties(deps.db, before, now, { type: "dispute.updated", object: view }),
    ],
  };
}

/** Production raises one alert for each dispute. All disputes of a platform's sandbox share one, because anyone can file there. */
const alertOperator = (db: Database, { disputeId, environment, consumerPlatformId }: DisputeRow): Statement =>
  raiseAlert(db, {
    kind: "arbitration_waiting",
    subject: environment === "production" ? `${disputeId} in production` : `the sandbox of ${consumerPlatformId}`,
    message: `A dispute waits for its arbiter: POST /v1/operator/disputes/${disputeId}/resolve decides it.`,
  });

/** Alerts the operator. The dispute stays in arbitration. */
async function recordOverdueArbiter(deps: Deps, before: DisputeRow): Promise<DisputeRow> {
  const { db } = deps;
  const { disputeId, environment } = before;
  const late: Alert = {
    kind: "arbitration",
    subject: `${disputeId} in ${environment}`,
    message: "A dispute has not been decided within the arbiter's 14 days.",
  };
  // A sandbox's clock may jump past the arbiter's 14 days at once, so only production alerts.
  const alerts = environment === "production" ? [raiseAlert(db, late)] : [];
  await commitAll(deps, [...updateRefund(db, before, { dueAt: null }), ...alerts]);
  return before;
}

/** A dispute ends without a decision if a reorg removed its settlement (FAC-18). */
export const isSettlementReversed = ({ task }: Pick<EndingFacts, "task">): boolean =>
  task !== null && task.transaction.reversedAt !== null;

async function clearDueAt(deps: Deps, before: DisputeRow): Promise<DisputeRow> {
  await commitAll(deps, updateRefund(deps.db, before, { dueAt: null }));
  return before;
}

/** The rest of the task's window is over as well. */
async function recordResumedWindow(deps: Deps, before: DisputeRow): Promise<DisputeRow> {
  await autoConfirmTasks.record(deps, before.taskId);
  return clearDueAt(deps, before);
}

// ---- A refund that the provider pays itself --------------------------------------------------------------------------------

async function recordRefundDeadline(
  deps: Deps,
  facts: EndingFacts,
  before: DisputeRow,
  now: number,
): Promise<DisputeRow | null> {
  const { db } = deps;
  if (before.refundFrom !== "provider" || before.resolvedAt === null) {
    await commitAll(deps, updateRefund(db, before, { dueAt: null }));
    return null;
  }
  const { network, settlementKey, disputeId } = before;
  const { operation, sight } = await readBatch(db, {
    operation: findOperation(db, { network, kind: "refund", subject: settlementKey }),
    sight: findRefundSight(db, disputeId),
  });
  const due = computeRefundDue(before.resolvedAt);
  const earlier = facts.found?.earlier ?? 0;
  if (earlier > before.refundedBefore) {
    // If a refund from before the filing is booked after the end, it does not count towards the awaited refund.
    const row = { ...before, refundedBefore: earlier };
    await commitAll(deps, [
      ...updateRefund(db, before, { refundedBefore: earlier }),
      awaitDisputeRefund(deps, row, due - pickClockOffset(facts)),
    ]);
    return row;
  }
  if (operation?.status === "done") return recordPaidRefund(deps, facts, before, now);
  if (now >= due && isRefundUnpaid(operation, sight, due, pickClockOffset(facts)))
    return reopenArbitration(deps, facts, before, now);
  // It is not known yet which refunds the chain had at the deadline.
  const dueAt = now < due ? due : now + MINUTE_MS;
  if (before.refundStatus !== "paid") {
    await commitAll(deps, updateRefund(db, before, { dueAt }));
    return null;
  }
  // A reorg removed the refund.
  return changeRefund(deps, facts, before, { refundStatus: "owed", owed: before.disputed, dueAt }, now);
}

/**
 * A failed operation proves it. In a sandbox whose clock was moved past the deadline, refunds up to the move count, so the chain has to be read up to
 * the move, or up to the deadline if real time has reached it.
 */
function isRefundUnpaid(
  operation: OperationRow | null,
  sight: RefundSight | null,
  due: number,
  offset: number,
): boolean {
  if (operation?.status === "failed") return true;
  if (offset === 0 || !sight || sight.readThrough === null) return false;
  return sight.readThrough >= Math.max(due - offset, (sight.movedAt ?? 0) - CHAIN_LOOK_MS);
}

const recordPaidRefund = (deps: Deps, facts: EndingFacts, before: DisputeRow, now: number): Promise<DisputeRow> =>
  before.refundStatus === "paid"
    ? clearDueAt(deps, before)
    : changeRefund(deps, facts, before, { refundStatus: "paid", owed: 0, dueAt: null }, now);

/** Changes the refund's state, and the amount that the vault reserves for it. */
async function changeRefund(
  deps: Deps,
  facts: EndingFacts,
  before: DisputeRow,
  set: Pick<DisputeRow, "refundStatus" | "owed" | "dueAt">,
  now: number,
): Promise<DisputeRow> {
  const row: DisputeRow = { ...before, ...set };
  const claim = { disputed: 0, owed: set.owed - before.owed };
  await commitAll(deps, [
    ...updateRefund(deps.db, before, set),
    ...applyClaim(deps, before, pickSeller(facts), claim, now).statements,
    ...recordDisputeUpdated(deps, row, now),
  ]);
  return row;
}

/** Moves a dispute to the arbiter if the provider did not refund what it conceded or offered (DSP-12). */
async function reopenArbitration(deps: Deps, facts: EndingFacts, before: DisputeRow, now: number): Promise<DisputeRow> {
  const { db } = deps;
  const { resolution, disputed, owed } = before;
  if (resolution === null) throw new Error("unreachable: it has ended");
  const set = {
    arbitrationAt: now,
    dueAt: computeArbitrationDue({ arbitrationAt: now }),
    refundStatus: "outstanding",
    resolution: null,
    resolvedAt: null,
    endedBy: null,
    bountyBy: null,
    owed: 0,
  } as const;
  const row: DisputeRow = { ...before, ...set, status: "arbitration" };
  const { provider, consumer } = toResolutionCounts(resolution);
  const effect = {
    provider: reverseCounts(provider, 1),
    consumer: reverseCounts(consumer, 1),
    claim: { disputed, owed: -owed },
  };
  await commitAll(deps, [
    ...moveDispute(db, before, move(disputeMachine, before.status, "refund_overdue"), set),
    alertOperator(db, before),
    ...applyEffect(deps, before, pickSeller(facts), effect, now).statements,
    ...recordDisputeUpdated(deps, row, now),
  ]);
  return row;
}

export const recordDisputeUpdated = ({ db, config }: Deps, row: DisputeRow, now: number): Statement[] =>
  recordEventForParties(db, row, now, { type: "dispute.updated", object: toDisputeView(config, row, now) });
