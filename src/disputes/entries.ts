// The entries about a dispute in the logs of the platforms that it concerns (DSP-18): a filing in the log of the provider's platform, an arbiter's
// decision in the logs of both. Each is dated on its own platform's clock (ACC-9).
import type { ActivityAction, Actor, RefundStatus } from "../core/vocabulary.ts";
import type { Database, Statement } from "../db/batch.ts";
import { apartOf, type OfTwoClocks, type Timed } from "../db/clock.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { recordActivity } from "../journal/activity.ts";
import { type Caller, noteAct, type PartyCall } from "./parties.ts";
import type { DisputeView } from "./schema.ts";

/** The log of one side does not say who acted for the other side. */
const FILING: Actor = { type: "system", id: "dispute_filing" };

const subjectOf = ({ disputeId: id }: Pick<DisputeRow, "disputeId">) => ({ type: "dispute", id });

/** A platform that files against its own agent has the entry of its act alone. `apart`: by how much the provider's clock is ahead of `now`. */
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
    subject: subjectOf(dispute),
  });
  return [...act, told];
}

/** A platform of both sides has one entry. `found`: as the arbiter found it. `now`: on the clock that rules the dispute. */
export function noteDecision(
  db: Database,
  actor: Actor,
  found: FoundDispute,
  { status, resolution, refund_amount }: DisputeView,
  now: number,
): Statement[] {
  const { dispute: before } = found;
  return inBothLogs(db, actor, found, now, "dispute.decided", {
    status: { from: before.status, to: status },
    resolution: { from: before.resolution, to: resolution },
    refund_amount: { from: null, to: refund_amount },
  });
}

type FoundDispute = Timed<OfTwoClocks & { readonly dispute: DisputeRow }>;
type Changes = NonNullable<Parameters<typeof recordActivity>[3]["changes"]>;

/** An operator has a cancelled award paid again (DSP-19). `refundStatus`: what is so of the refund then. */
export const noteRepeatedPayout = (
  db: Database,
  actor: Actor,
  found: FoundDispute,
  refundStatus: RefundStatus,
  now: number,
): Statement[] =>
  inBothLogs(db, actor, found, now, "dispute.payout_repeated", {
    refund_status: { from: found.dispute.refundStatus, to: refundStatus },
  });

function inBothLogs(
  db: Database,
  actor: Actor,
  found: FoundDispute,
  now: number,
  action: ActivityAction,
  changes: Changes,
): Statement[] {
  const { environment, consumerPlatformId, providerPlatformId } = found.dispute;
  // Where one platform has both sides, both keys of the map are one, and both instants too.
  const logs = new Map([
    [providerPlatformId, now + apartOf(found)],
    [consumerPlatformId, now],
  ]);
  return [...logs].map(([platformId, at]) =>
    recordActivity(db, { platformId, environment }, at, { action, actor, subject: subjectOf(found.dispute), changes }),
  );
}
