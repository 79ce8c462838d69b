// Computes the effect of a new balance or rating on a provider's escrows (MKT-16 to MKT-19). The contract's threshold follows through the queue.
import type { EscrowRow } from "../db/tables/money.ts";
import { computeEscrowState } from "./states.ts";
import { computeEscrowThreshold } from "./threshold.ts";

export type EscrowChange = { readonly before: EscrowRow; readonly after: EscrowRow };

export const hasStateChanged = ({ before, after }: EscrowChange): boolean => before.state !== after.state;

export function applyRating(escrow: EscrowRow, rating: number | null): EscrowRow {
  const threshold = computeEscrowThreshold(escrow.baseThreshold, rating);
  return { ...escrow, threshold, state: computeEscrowState({ ...escrow, threshold }) };
}

/** A change of a balance, in base units: by a facilitated settlement, or by what the follower has booked of the vault. */
export type Gain = {
  readonly amount: number;
  readonly settled: boolean;
  /** When the dispute window of the settlement closes, on the service's own clock. */
  readonly windowClosesAt?: number;
  /** The most that the balance may be, because the vault itself holds no more than this. */
  readonly atMost?: number | undefined;
};

/** Relative to the balance, so that records in another order come to the same (MKT-19). */
export function applyGain(escrow: EscrowRow, { amount, settled }: Gain): EscrowRow {
  const balance = escrow.balance + amount;
  return {
    ...escrow,
    balance,
    contributed: escrow.contributed + (settled ? amount : 0),
    state: computeEscrowState({ ...escrow, balance }),
  };
}

/** A change of the amounts that disputes claim from an escrow, in base units. */
export type Claim = { readonly disputed: number; readonly owed: number };

export function addClaim(escrow: EscrowRow, claim: Claim): EscrowRow {
  const disputed = escrow.disputed + claim.disputed;
  return { ...escrow, disputed, owed: escrow.owed + claim.owed, state: computeEscrowState({ ...escrow, disputed }) };
}

export const hasThresholdMoved = ({ before, after }: EscrowChange): boolean =>
  before.threshold !== after.threshold || before.state !== after.state;

export const findEscrowOn = (
  escrows: readonly EscrowRow[],
  { network }: { readonly network: string },
): EscrowRow | null => escrows.find((row) => row.network === network) ?? null;
