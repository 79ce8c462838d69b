// Specification 3.4: what a provider's vault should hold. Pure.

/**
 * base × (1 − 0.5·max(0, rating − 0.5)/0.5), base units: a strong rating halves it at best. Ratings have two decimals, so
 * this is exact in hundredths; a fraction of a base unit is rounded up, in favour of whoever relies on it.
 */
export function escrowThreshold(baseUnits: number, rating: number | null): number {
  const hundredths = rating === null ? 0 : Math.max(0, Math.round(rating * 100) - 50);
  return Math.ceil((baseUnits * (100 - hundredths)) / 100);
}
