// The entries about a dispute in the logs of the platforms that it concerns (DSP-18): a filing in the log of the provider's platform, an arbiter's
// decision in the logs of both. Each is dated on its own platform's clock (ACC-9).
import type { Actor } from "../core/vocabulary.ts";
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
  found: Timed<OfTwoClocks & { readonly dispute: DisputeRow }>,
  { status, resolution, refund_amount }: DisputeView,
  now: number,
): Statement[] {
  const { dispute: before } = found;
  const { environment, consumerPlatformId, providerPlatformId } = before;
  const changes = {
    status: { from: before.status, to: status },
    resolution: { from: before.resolution, to: resolution },
    refund_amount: { from: null, to: refund_amount },
  };
  // Where one platform has both sides, both keys of the map are one, and both instants too.
  const logs = new Map([
    [providerPlatformId, now + apartOf(found)],
    [consumerPlatformId, now],
  ]);
  return [...logs].map(([platformId, at]) =>
    recordActivity(db, { platformId, environment }, at, {
      action: "dispute.decided",
      actor,
      subject: subjectOf(before),
      changes,
    }),
  );
}
