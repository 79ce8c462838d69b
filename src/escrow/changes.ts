// Computes the effect of a new balance or rating on a provider's escrows (MKT-16 to MKT-19); the store writes it. The contract's threshold
// follows through the queue.
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
 * The vault held `balance` right after a settlement mined at `seenAt`. A settlement older than the last one seen never lowers the balance
 * (MKT-19).
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
