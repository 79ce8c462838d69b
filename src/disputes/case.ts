// Reads one dispute for its parties and their platforms (DSP-9), or for its arbiter (DSP-16), and decides who may act in a dispute (DSP-1, DSP-8).
import type { AgentCall, ManagementCall, OperatorCall, ReadOptions } from "../call.ts";
import { toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { type ActivityAction, type Actor, type Environment, SIDES, type Side } from "../core/vocabulary.ts";
import type { ReadResults, Reads, Statement } from "../db/batch.ts";
import { computeClockDifference, type Timed, type WithProviderOffset } from "../db/clock.ts";
import { findReceiptOf } from "../facilitation/store.ts";
import { toTransactionView } from "../facilitation/views.ts";
import { findIntent } from "../intents/store.ts";
import { type Changes, recordActivity } from "../journal/activity.ts";
import type { Parties } from "../journal/events.ts";
import { toIntentView } from "../payments/read.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { findRatedAgent } from "../ratings/store.ts";
import { toTaskView } from "../tasks/read.ts";
import type { DisputeCase, DisputeFile } from "./responses.ts";
import {
  type FoundDispute,
  findDisputable,
  findDispute,
  findEvidence,
  findMessages,
  selectDisputeParty,
  selectTransactionOfDispute,
} from "./store.ts";
import { toDisputeFile } from "./views.ts";

export async function getDispute(call: PartyCall, disputeId: string): Promise<DisputeFile> {
  const { caller, found, ...rest } = await readAs(call, buildDisputeReads(call, disputeId), CONSUMER_CLOCK);
  if (!found) throw new ServiceError("not_found");
  refuseStranger(call, caller, found.dispute);
  return toDisputeFile(call.deps.config, { dispute: found.dispute, award: found.award, ...rest }, call.now);
}

const buildDisputeReads = ({ db }: PartyCall, disputeId: string) => ({
  found: findDispute(db, disputeId),
  messages: findMessages(db, disputeId),
  evidence: findEvidence(db, disputeId),
});

/** Adds what the arbiter needs: the purchase with its signed receipt, the wallets that paid and are refunded, and both ratings. */
export async function getDisputeCase(call: OperatorCall<FoundDispute>, disputeId: string): Promise<DisputeCase> {
  const { db, deps } = call;
  const { config } = deps;
  const { object, messages, evidence, about, receipt, intent, provider, consumer } = await call.read({
    messages: findMessages(db, disputeId),
    evidence: findEvidence(db, disputeId),
    about: findDisputable(db, selectTransactionOfDispute(disputeId)),
    receipt: findReceiptOf(db, selectTransactionOfDispute(disputeId)),
    intent: findIntent(db, selectDisputeParty(disputeId, "intent")),
    provider: findRatedAgent(db, selectDisputeParty(disputeId, "provider")),
    consumer: findRatedAgent(db, selectDisputeParty(disputeId, "consumer")),
  });
  if (!about?.task || !intent || !provider || !consumer) throw new Error("a dispute without its purchase");
  const { dispute, award, clockOffsetMs: ahead } = object;
  const now = deps.clock.now() + ahead;
  const rating = ({ clockOffsetMs, ...agent }: typeof provider) =>
    agent.environment === dispute.environment
      ? computeRatingFromRow(agent, pickRatingMethod(deps.env, agent.environment), deps.clock.now() + clockOffsetMs)
      : null;
  const { payer, refundTo } = about.transaction;
  const walletOf = (address: string) => {
    const own = provider.wallets.find(([wallet]) => wallet === address.toLowerCase());
    return { address, of_provider: own !== undefined, of_provider_since: own?.[1] ? toIso(own[1]) : null };
  };
  return {
    ...toDisputeFile(config, { dispute, award, messages, evidence }, now),
    transaction: toTransactionView(config, about.transaction),
    receipt,
    intent: toIntentView(config, intent, now),
    task: toTaskView(config, about.task, now),
    payer: walletOf(payer),
    refund_to: walletOf(refundTo || payer),
    ratings: { provider: rating(provider), consumer: rating(consumer) },
  };
}

// ---- Who may act -----------------------------------------------------------------------------------------------------------

/** An agent of the dispute, or that agent's platform by its key, so that a dispute continues while an agent is suspended. */
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
