// The acts of the parties in a dispute before the arbiter decides it (DSP-7, DSP-8): the provider answers, offers or concedes, the consumer accepts
// or withdraws, and either escalates. An agent or its platform acts.
import { type Precheck, precheck } from "../call.ts";
import { requireNetwork } from "../chain/networks.ts";
import { ServiceError, toFieldError, toValidationError } from "../core/errors.ts";
import { DISPUTE_MESSAGES_MAX } from "../core/limits.ts";
import { move, tryMove } from "../core/machine.ts";
import { parseAmount } from "../core/text.ts";
import type { ActivityAction, Side } from "../core/vocabulary.ts";
import type { ReadResults, Statement } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import { recordEventForParties } from "../journal/events.ts";
import { retryUnderLocks } from "../objects/locks.ts";
import {
  type Caller,
  CONSUMER_CLOCK,
  computeCallerNow,
  noteAct,
  type PartyCall,
  readAs,
  refuseOtherSide,
  refuseStranger,
} from "./case.ts";
import { recordEscalation } from "./deadlines.ts";
import { buildEndingReads, type Ending, type EndingFacts, endDispute } from "./end.ts";
import { queueReserve } from "./reserve.ts";
import type { DisputeView, ResponseInput } from "./schema.ts";
import { type DisputeTrigger, disputeMachine, toEffectiveDispute } from "./states.ts";
import { findDispute, insertMessage, moveDispute } from "./store.ts";
import { toDisputeView } from "./views.ts";

/** `side`: the side that may act; null if both may. */
type Act = {
  readonly trigger: DisputeTrigger;
  readonly side: Side | null;
  readonly action: ActivityAction;
};
const RESPOND: Act = { trigger: "respond", side: "provider", action: "dispute.answered" };
const ACCEPT: Act = { trigger: "accept", side: "consumer", action: "dispute.accepted" };
const CONCEDE: Act = { trigger: "concede", side: "provider", action: "dispute.conceded" };
const WITHDRAW: Act = { trigger: "withdraw", side: "consumer", action: "dispute.withdrawn" };
const ESCALATE: Act = { trigger: "escalate", side: null, action: "dispute.escalated" };

export const respond = (call: PartyCall, disputeId: string, input: ResponseInput): Promise<DisputeView> =>
  actOn(call, disputeId, RESPOND, readDisputeAlone, (before) => {
    const { now, deps } = call;
    const offer = parseOffer(call, before, input);
    if (before.messages >= DISPUTE_MESSAGES_MAX)
      throw new ServiceError("invalid_status", {
        message: `A dispute can have at most ${DISPUTE_MESSAGES_MAX} answers.`,
      });
    const number = before.messages + 1;
    const set = {
      messages: number,
      respondedAt: before.respondedAt ?? now,
      ...(offer !== null && { offer }),
    };
    const message = { disputeId, number, message: input.message, offer, sentAt: now };
    return recordUpdate(call, before, set, [insertMessage(deps.db, message)]);
  });

/** An offer only rises: a consumer that accepts the offer it has seen never gets less. */
function parseOffer(
  { deps }: PartyCall,
  { network, disputed, offer }: DisputeRow,
  { offer_amount: offered }: ResponseInput,
) {
  if (offered === undefined || offered === null) return null;
  const parsed = parseAmount(offered, requireNetwork(deps.config.networks, network).decimals);
  if (!parsed.ok) throw toValidationError([toFieldError("offer_amount", parsed.fault)]);
  if (parsed.units === 0) throw toValidationError([toFieldError("offer_amount", "too_small")]);
  if (offer !== null && parsed.units < offer)
    throw toValidationError([toFieldError("offer_amount", "too_small", "Must be at least the previous offer.")]);
  if (parsed.units <= disputed) return parsed.units;
  throw toValidationError([toFieldError("offer_amount", "too_big", "Must be at most the disputed amount.")]);
}

/** The provider pays the last offer from its own wallet. */
export const accept = (call: PartyCall, disputeId: string): Promise<DisputeView> =>
  actOn(call, disputeId, ACCEPT, readWithEnding, (before, facts) => {
    if (before.offer === null)
      throw new ServiceError("invalid_status", { message: "The provider has not made an offer." });
    return recordEnding(call, facts, before, {
      trigger: "accept",
      resolution: "settled",
      refund: before.offer,
      from: "provider",
      endedBy: "consumer",
    });
  });

/** The provider pays the whole disputed amount from its own wallet. */
export const concede = (call: PartyCall, disputeId: string): Promise<DisputeView> =>
  actOn(call, disputeId, CONCEDE, readWithEnding, (before, facts) =>
    recordEnding(call, facts, before, {
      trigger: "concede",
      resolution: "upheld",
      refund: before.disputed,
      from: "provider",
      endedBy: "provider",
    }),
  );

export const withdraw = (call: PartyCall, disputeId: string): Promise<DisputeView> =>
  actOn(call, disputeId, WITHDRAW, readWithEnding, (before, facts) =>
    recordEnding(call, facts, before, {
      trigger: "withdraw",
      resolution: "withdrawn",
      refund: 0,
      from: null,
      endedBy: "consumer",
    }),
  );

/** Moves a dispute to the arbiter before the parties' seven days are over, once the provider has answered. */
export const escalate = (call: PartyCall, disputeId: string): Promise<DisputeView> =>
  actOn(call, disputeId, ESCALATE, readDisputeAlone, (before) => {
    if (before.respondedAt === null)
      throw new ServiceError("invalid_status", { message: "The provider has not answered yet." });
    return recordEscalation(call.deps, before, "escalate", call.now, call.now);
  });

// ---- Shared ----------------------------------------------------------------------------------------------------------------

type Done = { readonly statements: Statement[]; readonly view: DisputeView; readonly row: DisputeRow };

type Found = ReadResults<{ found: ReturnType<typeof findDispute> }>;
type Reading<F> = (call: PartyCall, disputeId: string) => Promise<F & { caller: Caller }>;

/** Also reads the task, the ratings and the escrow, which an end changes. */
const readWithEnding: Reading<EndingFacts> = (call, disputeId) =>
  readAs(call, buildEndingReads(call.db, disputeId), CONSUMER_CLOCK);
const readDisputeAlone: Reading<Found> = (call, disputeId) =>
  readAs(call, { found: findDispute(call.db, disputeId) }, CONSUMER_CLOCK);

async function actOn<F extends Found>(
  call: PartyCall,
  disputeId: string,
  { trigger, side, action }: Act,
  reading: Reading<F>,
  decide: (before: DisputeRow, facts: F) => Done,
): Promise<DisputeView> {
  const done = await retryUnderLocks(call.deps.env, async (touches) => {
    const facts = await reading(call, disputeId);
    const { caller, found } = facts;
    if (!found) throw new ServiceError("not_found");
    const before = found.dispute;
    if (side === null) refuseStranger(call, caller, before);
    else refuseOtherSide(call, caller, before, side);
    touches([before.providerDid, before.consumerDid]);
    const present = toEffectiveDispute(before, call.now);
    if (!tryMove(disputeMachine, present.status, trigger).ok) throw toActError(present);
    const outcome = decide(before, facts);
    const noted = noteAct(call, caller, computeCallerNow(call, caller, found), { action, disputeId });
    await call.commit([...outcome.statements, ...noted], outcome.view);
    return outcome;
  });
  if (done.row.status === "resolved") call.background(queueReserve(call.deps, done.row));
  return done.view;
}

const toActError = ({ status, resolution }: DisputeRow): ServiceError =>
  new ServiceError("invalid_status", {
    message: `The dispute is in ${status}, which does not permit this.`,
    detail: { status, ...(resolution !== null && { resolution }) },
  });

function recordUpdate({ deps, now }: PartyCall, before: DisputeRow, set: Partial<DisputeRow>, more: Statement[]): Done {
  const row = { ...before, ...set };
  const view = toDisputeView(deps.config, row, now);
  return {
    row,
    view,
    statements: [
      ...moveDispute(deps.db, before, move(disputeMachine, before.status, "respond"), set),
      ...more,
      ...recordEventForParties(deps.db, before, now, { type: "dispute.updated", object: view }),
    ],
  };
}

const recordEnding = ({ deps, now }: PartyCall, facts: EndingFacts, before: DisputeRow, ending: Ending): Done =>
  endDispute(deps, facts, before, ending, now);

export const precheckAct = (call: PartyCall, disputeId: string, side: Side | null): Precheck =>
  precheck<{ found: ReturnType<typeof findDispute> }, Caller>(
    { found: findDispute(call.db, disputeId) },
    ({ found, caller }) => {
      if (!found) throw new ServiceError("not_found");
      if (side === null) refuseStranger(call, caller, found.dispute);
      else refuseOtherSide(call, caller, found.dispute, side);
      return [];
    },
  );
