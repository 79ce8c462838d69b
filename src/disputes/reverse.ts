// Ends an open dispute whose settlement a reorganisation took away (FAC-18): nobody wins it, and nothing is owed. Where the payment comes back it is
// facilitated anew, and may be disputed anew.
import type { Deps } from "../context.ts";
import { move } from "../core/machine.ts";
import type { Statement } from "../db/batch.ts";
import type { DisputeRow } from "../db/tables/disputes.ts";
import type { EscrowRow } from "../db/tables/money.ts";
import { recordEventForParties } from "../journal/events.ts";
import { applyEffect, type Found } from "./effects.ts";
import { countedOf } from "./end.ts";
import { disputeMachine } from "./states.ts";
import { moveDispute } from "./store.ts";
import { toDisputeView } from "./views.ts";

/** `found`: as the batch leaves it before this; `escrows`: behind it. */
export function reverseDispute(
  deps: Deps,
  before: DisputeRow | null,
  found: Found,
  now: number,
): { readonly escrows: readonly EscrowRow[]; readonly statements: Statement[] } {
  if (before === null || before.status === "resolved") return { escrows: found.escrows, statements: [] };
  const set = { resolution: "withdrawn", endedBy: "reversal", resolvedAt: now, dueAt: null } as const;
  const ended: DisputeRow = { ...before, ...set, status: "resolved" };
  const effect = { ...countedOf("withdrawn"), claim: { disputed: -before.disputed, owed: 0 } };
  const applied = applyEffect(deps, before, found, effect, now);
  return {
    escrows: applied.escrows,
    statements: [
      ...moveDispute(deps.db, before, move(disputeMachine, before.status, "reverse"), set),
      ...applied.statements,
      ...recordEventForParties(deps.db, before, now, {
        type: "dispute.resolved",
        object: toDisputeView(deps.config, ended, now),
      }),
    ],
  };
}
