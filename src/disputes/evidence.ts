// Takes evidence of either party until the dispute has ended (DSP-8): links, which are never fetched, and digests. Also writes the entries about a
// dispute into the activity logs of its platforms (DSP-18).
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { DISPUTE_EVIDENCE_MAX } from "../core/limits.ts";
import { move, tryMove } from "../core/machine.ts";
import type { ActivityAction, Actor, RefundStatus, Side } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { computeClockDifference } from "../db/clock.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import { recordEventForParties } from "../journal/events.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import {
  type Caller,
  CONSUMER_CLOCK,
  computeCallerNow,
  noteAct,
  type PartyCall,
  readAs,
  refuseStranger,
} from "./case.ts";
import type { EvidenceView } from "./responses.ts";
import type { DisputeView, EvidenceInput } from "./schema.ts";
import { disputeMachine } from "./states.ts";
import { type FoundDispute, findDispute, insertEvidence, moveDispute } from "./store.ts";
import { toDisputeView, toEvidenceView } from "./views.ts";

export const addEvidence = (call: PartyCall, disputeId: string, input: EvidenceInput): Promise<EvidenceView> =>
  retryUnderLocks(call.deps.env, (touches) => addEvidenceOnce(call, disputeId, input, touches));

async function addEvidenceOnce(
  call: PartyCall,
  disputeId: string,
  input: EvidenceInput,
  touches: (dids: readonly string[]) => void,
): Promise<EvidenceView> {
  const { db, deps, now } = call;
  const { caller, found } = await readAs(call, { found: findDispute(db, disputeId) }, CONSUMER_CLOCK);
  if (!found) throw new ServiceError("not_found");
  const before = found.dispute;
  touches([before.providerDid, before.consumerDid]);
  const submittedBy = chooseSubmitter(refuseStranger(call, caller, before), input);
  if (!tryMove(disputeMachine, before.status, "submit_evidence").ok)
    throw new ServiceError("invalid_status", { message: "The dispute has ended.", detail: { status: before.status } });
  const { evidence, consumerEvidence } = before;
  // Each side has its own limit, so that neither uses up the other's.
  const byConsumer = submittedBy === "consumer";
  if ((byConsumer ? consumerEvidence : evidence - consumerEvidence) >= DISPUTE_EVIDENCE_MAX)
    throw new ServiceError("invalid_status", {
      message: `A side can submit at most ${DISPUTE_EVIDENCE_MAX} pieces of evidence.`,
    });
  const row = {
    disputeId,
    number: evidence + 1,
    submittedBy,
    description: input.description,
    uri: input.uri ?? null,
    sha256: input.sha256?.toLowerCase() ?? null,
    mediaType: input.media_type ?? null,
    submittedAt: now,
  };
  const set = { evidence: row.number, consumerEvidence: consumerEvidence + Number(byConsumer) };
  const view = toEvidenceView(row);
  const object = toDisputeView(deps.config, before, now);
  await call.commit(
    [
      ...moveDispute(db, before, move(disputeMachine, before.status, "submit_evidence"), set),
      insertEvidence(db, row),
      ...recordEventForParties(db, before, now, { type: "dispute.updated", object }),
      ...noteAct(call, caller, computeCallerNow(call, caller, found), { action: "dispute.evidence_added", disputeId }),
    ],
    view,
  );
  return view;
}

/** A platform that stands for both sides has to name the side of the evidence. */
function chooseSubmitter(sides: readonly Side[], { submitted_by: named }: EvidenceInput): Side {
  const [only, other] = sides;
  if (named !== undefined && !sides.includes(named)) {
    throw toValidationError([
      toFieldError("submitted_by", "invalid_value", "The caller does not represent this side."),
    ]);
  }
  const side = named ?? (other === undefined ? only : undefined);
  if (side !== undefined) return side;
  throw toValidationError([
    toFieldError("submitted_by", "required", "Both agents belong to the account: name the side."),
  ]);
}

// ---- Entries of the activity logs ------------------------------------------------------------------------------------------

/** The log of one side does not say who acted for the other side. */
const FILING: Actor = { type: "system", id: "dispute_filing" };

const toDisputeSubject = ({ disputeId: id }: Pick<DisputeRow, "disputeId">) => ({ type: "dispute", id });

/**
 * Writes into the provider's log. If one platform files against its own agent, the entry of its act is enough. `apart`: how far the provider's clock
 * is ahead of `now`.
 */
export function noteFiling(
  call: PartyCall,
  caller: Caller,
  dispute: DisputeRow,
  { now, apart }: { readonly now: number; readonly apart: number },
): Statement[] {
  const { disputeId, environment, providerPlatformId: platformId } = dispute;
  const act = noteAct(call, caller, now, { action: "dispute.filed", disputeId });
  if (act.length > 0 && caller.platformId === platformId) return act;
  const told = recordActivity(call.db, { platformId, environment }, now + apart, {
    action: "dispute.filed",
    actor: FILING,
    subject: toDisputeSubject(dispute),
  });
  return [...act, told];
}

type LoggedDispute = Omit<FoundDispute, "award">;

/** Writes into both logs. `found`: the dispute before the decision. `now`: on the clock that rules the dispute. */
export function noteDecision(
  db: Database,
  actor: Actor,
  found: LoggedDispute,
  { status, resolution, refund_amount }: DisputeView,
  now: number,
): Statement[] {
  const { dispute: before } = found;
  const changes = {
    status: { from: before.status, to: status },
    resolution: { from: before.resolution, to: resolution },
    refund_amount: { from: null, to: refund_amount },
  };
  return recordInBothLogs(db, actor, found, now, { action: "dispute.decided", changes });
}

/** Records that an operator repeats a cancelled payout (DSP-19). `refundStatus`: the new one. */
export const noteRepeatedPayout = (
  db: Database,
  actor: Actor,
  found: LoggedDispute,
  refundStatus: RefundStatus,
  now: number,
): Statement[] =>
  recordInBothLogs(db, actor, found, now, {
    action: "dispute.payout_repeated",
    changes: { refund_status: { from: found.dispute.refundStatus, to: refundStatus } },
  });

/** Dates each entry on the clock of its log's platform (ACC-9). */
function recordInBothLogs(
  db: Database,
  actor: Actor,
  found: LoggedDispute,
  now: number,
  entry: { readonly action: ActivityAction; readonly changes: Changes },
): Statement[] {
  const { environment, consumerPlatformId, providerPlatformId } = found.dispute;
  // If one platform has both agents, both keys and both instants are equal, and the map holds one entry.
  const logs = new Map([
    [providerPlatformId, now + computeClockDifference(found)],
    [consumerPlatformId, now],
  ]);
  return [...logs].map(([platformId, at]) =>
    recordActivity(db, { platformId, environment }, at, { ...entry, actor, subject: toDisputeSubject(found.dispute) }),
  );
}
