// Ends a dispute whose settlement a reorganisation took away (FAC-18), also one that had an end: nobody wins it, and nothing is owed. Where the
// payment comes back it is facilitated anew, and may be disputed anew.
import { dropOperation } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import { move } from "../core/machine.ts";
import type { Statement } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { recordEventForParties } from "../journal/events.ts";
import { applyEffect, type Effect, type Found, type Rated, uncounted } from "./effects.ts";
import { countedOf } from "./end.ts";
import { disputeMachine } from "./states.ts";
import { dropAward, moveDispute } from "./store.ts";
import { toDisputeView } from "./views.ts";

type Reversed = {
  readonly escrows: readonly EscrowRow[];
  readonly turned: boolean;
  readonly statements: Statement[];
};

/**
 * `found`: as the batch leaves it before this; `escrows`: behind it. `rated`: whose rating the batch writes too. `paidOut`: what was paid out of the
 * vault for its settlement, on the chain as it is now.
 */
export function reverseDispute(
  deps: Deps,
  before: DisputeRow | null,
  found: Found,
  rated: Rated,
  paidOut: number,
  now: number,
): Reversed {
  // One that was withdrawn has left nothing to end.
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
  const effect = takenBack(before);
  const applied = applyEffect(deps, before, found, effect, now, rated);
  return {
    ...applied,
    statements: [
      ...moveDispute(deps.db, before, move(disputeMachine, before.status, "reverse"), set),
      ...applied.statements,
      dropAward(deps.db, before.disputeId),
      ...dropped(deps, before),
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

/** Of one that had ended, what its end has counted and claimed. */
function takenBack({ resolution, disputed, owed }: DisputeRow): Effect {
  if (resolution === null) return { ...countedOf("withdrawn"), claim: { disputed: -disputed, owed: 0 } };
  const { provider, consumer } = countedOf(resolution);
  return { provider: uncounted(provider, 0), consumer: uncounted(consumer, 0), claim: { disputed: 0, owed: -owed } };
}

/** Nothing is awaited of the provider, or paid out of its vault, any more. */
function dropped({ db }: Deps, { network, refundFrom, disputeId, settlementKey }: DisputeRow): Statement[] {
  if (refundFrom === null) return [];
  return [
    refundFrom === "vault"
      ? dropOperation(db, { network, kind: "payout", subject: disputeId })
      : dropOperation(db, { network, kind: "refund", subject: settlementKey }),
  ];
}
