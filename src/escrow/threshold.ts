// Contract section 6, Escrow: what a provider's vault should hold, and the state that follows. Pure.
export const ESCROW_STATES = ["FUNDING", "ACTIVE", "CONSTRAINED"] as const;
export type EscrowState = (typeof ESCROW_STATES)[number];

/**
 * base × (1 − 0.5·max(0, rating − 0.5)/0.5), base units: a strong rating halves it at best. Ratings have two decimals, so
 * this is exact in hundredths; a fraction of a base unit is rounded up, in favour of whoever relies on it.
 */
export function escrowThreshold(baseUnits: number, rating: number | null): number {
  const hundredths = rating === null ? 0 : Math.max(0, Math.round(rating * 100) - 50);
  return Math.ceil((baseUnits * (100 - hundredths)) / 100);
}

/** FUNDING ⇄ ACTIVE by the balance; CONSTRAINED stays for as long as a dispute holds it. */
export function escrowStateAt(present: string, balance: number, threshold: number): EscrowState {
  if (present === "CONSTRAINED") return "CONSTRAINED";
  return balance >= threshold ? "ACTIVE" : "FUNDING";
}
