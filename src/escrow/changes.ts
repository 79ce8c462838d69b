// Specification 3.4: what a new balance or a new rating makes of a provider's escrows, in memory; the store writes it. The chain's
// own threshold follows through the queue.
import type { EscrowRow } from "../db/tables/money.ts";
import { escrowStateAt } from "./states.ts";
import { escrowThreshold } from "./threshold.ts";

export type EscrowChange = { readonly before: EscrowRow; readonly after: EscrowRow };

/** A rating moves the threshold of every network. */
export function rated(escrow: EscrowRow, rating: number | null): EscrowRow {
  const threshold = escrowThreshold(escrow.baseThreshold, rating);
  return { ...escrow, threshold, state: escrowStateAt(escrow.state, escrow.balance, threshold) };
}

/**
 * The vault held `balance` right after a settlement mined at `seenAt`. A settlement that is older than what was last seen
 * (two facilitated in the other order) never lowers it.
 */
export function credited(escrow: EscrowRow, balance: number, seenAt: number): EscrowRow {
  const latest = seenAt > escrow.updatedAt ? balance : Math.max(balance, escrow.balance);
  return {
    ...escrow,
    balance: latest,
    state: escrowStateAt(escrow.state, latest, escrow.threshold),
    updatedAt: Math.max(seenAt, escrow.updatedAt),
  };
}

export const thresholdMoved = ({ before, after }: EscrowChange): boolean =>
  before.threshold !== after.threshold || before.state !== after.state;
