// Ends a dispute whose settlement a reorg removed (FAC-18), even if it had ended before: neither side wins, and nothing is owed. If the payment is
// mined again, it is facilitated again and can be disputed again.
import { dropOperation } from "../chain/store.ts";
import type { Deps } from "../context.ts";
import { move } from "../core/machine.ts";
import type { Statement } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { recordEventForParties } from "../journal/events.ts";
import { applyEffect, type Effect, type FoundSeller, type Rated, reverseCounts } from "./effects.ts";
import { toResolutionCounts } from "./end.ts";
import { disputeMachine } from "./states.ts";
import { dropAward, moveDispute } from "./store.ts";
import { toDisputeView } from "./views.ts";

type Reversed = {
  readonly escrows: readonly EscrowRow[];
  readonly turned: boolean;
  readonly statements: Statement[];
};

/**
 * `found`: the rows as the batch leaves them before these statements; the result's `escrows`: as it leaves them after. `rated`: agents whose rating
 * the batch writes too. `paidOut`: what the vault paid for the settlement, by the chain after the reorg.
 */
export function reverseDispute(
  deps: Deps,
  before: DisputeRow | null,
  found: FoundSeller,
  rated: Rated,
  paidOut: number,
  now: number,
): Reversed {
  // A withdrawn dispute has no effect that would have to be reversed.
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
  const effect = reverseEffect(before);
  const applied = applyEffect(deps, before, found, effect, now, rated);
  return {
    ...applied,
    statements: [
      ...moveDispute(deps.db, before, move(disputeMachine, before.status, "reverse"), set),
      ...applied.statements,
      dropAward(deps.db, before.disputeId),
      ...dropRefundOperation(deps, before),
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

/** The reverse of what the filing, or the end, counted and claimed. */
function reverseEffect({ resolution, disputed, owed }: DisputeRow): Effect {
  if (resolution === null) return { ...toResolutionCounts("withdrawn"), claim: { disputed: -disputed, owed: 0 } };
  const { provider, consumer } = toResolutionCounts(resolution);
  return {
    provider: reverseCounts(provider, 0),
    consumer: reverseCounts(consumer, 0),
    claim: { disputed: 0, owed: -owed },
  };
}

/** Stops awaiting the provider's refund, or paying out of its vault. */
function dropRefundOperation({ db }: Deps, { network, refundFrom, disputeId, settlementKey }: DisputeRow): Statement[] {
  if (refundFrom === null) return [];
  return [
    refundFrom === "vault"
      ? dropOperation(db, { network, kind: "payout", subject: disputeId })
      : dropOperation(db, { network, kind: "refund", subject: settlementKey }),
  ];
}
