// Writes the entries about a dispute into the activity logs of its platforms (DSP-18): a filing into the provider's log, an arbiter's decision into
// both. Each entry is dated on the clock of its log's platform (ACC-9).
import type { ActivityAction, Actor, RefundStatus } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { computeClockDifference, type Timed, type WithProviderOffset } from "../db/clock.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { recordActivity } from "../journal/activity.ts";
import { type Caller, noteAct, type PartyCall } from "./parties.ts";
import type { DisputeView } from "./schema.ts";

/** The log of one side does not say who acted for the other side. */
const FILING: Actor = { type: "system", id: "dispute_filing" };

const toDisputeSubject = ({ disputeId: id }: Pick<DisputeRow, "disputeId">) => ({ type: "dispute", id });

/** If one platform files against its own agent, the entry of its act is enough. `apart`: how far the provider's clock is ahead of `now`. */
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

/** Writes one entry if both agents belong to one platform. `found`: the dispute before the decision. `now`: on the clock that rules the dispute. */
export function noteDecision(
  db: Database,
  actor: Actor,
  found: FoundDispute,
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

type FoundDispute = Timed<WithProviderOffset & { readonly dispute: DisputeRow }>;
type Changes = NonNullable<Parameters<typeof recordActivity>[3]["changes"]>;

/** Records that an operator repeats a cancelled payout (DSP-19). `refundStatus`: the new one. */
export const noteRepeatedPayout = (
  db: Database,
  actor: Actor,
  found: FoundDispute,
  refundStatus: RefundStatus,
  now: number,
): Statement[] =>
  recordInBothLogs(db, actor, found, now, {
    action: "dispute.payout_repeated",
    changes: { refund_status: { from: found.dispute.refundStatus, to: refundStatus } },
  });

function recordInBothLogs(
  db: Database,
  actor: Actor,
  found: FoundDispute,
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
