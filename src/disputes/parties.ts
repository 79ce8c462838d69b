// Who may act in a dispute (DSP-1, DSP-8): an agent of it, or that agent's platform by its key, so that a dispute continues while an agent is
// suspended.
import type { AgentCall, ManagementCall, ReadOptions } from "../call.ts";
import { ServiceError } from "../core/errors.ts";
import type { ActivityAction, Actor, Environment, Side } from "../core/vocabulary.ts";
import { SIDES } from "../core/vocabulary.ts";
import type { ReadResults, Reads, Statement } from "../db/batch.ts";
import { computeClockDifference, type Timed, type WithProviderOffset } from "../db/clock.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import type { Parties } from "../journal/events.ts";

export type PartyCall = AgentCall | ManagementCall;
/** The caller, as the first trip reads it. */
export type Caller = { readonly platformId: string; readonly environment: Environment; readonly actor?: Actor };

/** The clock of the consumer's platform, which rules a dispute and its transaction. */
export const CONSUMER_CLOCK = {
  clock: ({ found }: { readonly found: { readonly clockOffsetMs: number } | null }) => found?.clockOffsetMs,
};

/** Makes the first trip, for both kinds of callers. */
export const readAs = async <R extends Reads>(
  call: PartyCall,
  reads: R,
  options: ReadOptions<ReadResults<R>>,
): Promise<ReadResults<R> & { caller: Caller }> =>
  call.surface === "agent" ? call.read(reads, options) : call.read(reads, options);

export function pickSides(call: PartyCall, caller: Caller, of: Parties): Side[] {
  if (call.surface === "agent")
    return SIDES.filter((side) => call.did === (side === "provider" ? of.providerDid : of.consumerDid));
  const { platformId, environment } = caller;
  if (environment !== of.environment) return [];
  return SIDES.filter((side) => platformId === (side === "provider" ? of.providerPlatformId : of.consumerPlatformId));
}

/** A stranger's agent gets 403, a stranger's key 404. */
export function refuseStranger(call: PartyCall, caller: Caller, of: Parties): Side[] {
  const sides = pickSides(call, caller, of);
  if (sides.length > 0) return sides;
  throw new ServiceError(call.surface === "agent" ? "forbidden" : "not_found");
}

export function refuseOtherSide(call: PartyCall, caller: Caller, of: Parties, side: Side): void {
  if (refuseStranger(call, caller, of).includes(side)) return;
  throw new ServiceError("forbidden", { message: `Only the ${side} of the transaction can do this.` });
}

/** Now on the clock of the caller's platform, which dates its log. */
export const computeCallerNow = (
  { now }: PartyCall,
  { platformId }: Caller,
  found: Timed<WithProviderOffset & { readonly dispute: Parties }>,
): number => (platformId === found.dispute.providerPlatformId ? now + computeClockDifference(found) : now);

/** An agent's act writes no entry, because the log records management. `now`: on the clock of the caller's platform. */
export function noteAct(
  { db, surface }: PartyCall,
  caller: Caller,
  now: number,
  act: { readonly action: ActivityAction; readonly disputeId: string; readonly changes?: Changes },
): Statement[] {
  if (surface === "agent" || !caller.actor) return [];
  const { action, disputeId, changes } = act;
  return [
    recordActivity(db, caller, now, {
      action,
      actor: caller.actor,
      subject: { type: "dispute", id: disputeId },
      ...(changes && { changes }),
    }),
  ];
}
