// Computes the effect of a new balance or rating on a provider's escrows (MKT-16 to MKT-19); the store writes it. The contract's threshold
// follows through the queue.
import type { EscrowRow } from "../db/tables/money.ts";
import { countedOf, escrowStateAt } from "./states.ts";
import { escrowThreshold } from "./threshold.ts";

export type EscrowChange = { readonly before: EscrowRow; readonly after: EscrowRow };

/** A rating moves the threshold of every network. */
export function rated(escrow: EscrowRow, rating: number | null): EscrowRow {
  const threshold = escrowThreshold(escrow.baseThreshold, rating);
  return { ...escrow, threshold, state: escrowStateAt(escrow.state, escrow.balance, threshold) };
}

/** A settlement as a vault saw it: what it held right after, what the settlement put into it, and the instant of the block. */
export type Credit = { readonly held: number; readonly part: number; readonly seenAt: number };

/** A settlement older than the last one seen never lowers the balance (MKT-19). */
export function credited(escrow: EscrowRow, { held, part, seenAt }: Credit): EscrowRow {
  const balance = countedOf(held, escrow.elsewhere);
  const latest = seenAt > escrow.updatedAt ? balance : Math.max(balance, escrow.balance);
  return {
    ...escrow,
    balance: latest,
    contributed: escrow.contributed + part,
    state: escrowStateAt(escrow.state, latest, escrow.threshold),
    updatedAt: Math.max(seenAt, escrow.updatedAt),
  };
}

export const thresholdMoved = ({ before, after }: EscrowChange): boolean =>
  before.threshold !== after.threshold || before.state !== after.state;
