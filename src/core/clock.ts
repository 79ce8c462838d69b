// Time as an argument: domain code reads a Clock and never the system's. Epoch milliseconds inside, ISO 8601 in UTC on the wire
// (HTTP-3).

/** `ahead`: by how many milliseconds it is ahead of real time, where the clock knows it to the millisecond. */
export type Clock = { readonly now: () => number; readonly ahead?: () => number };

export const systemClock: Clock = { now: () => Date.now(), ahead: () => 0 };

/** By how many milliseconds a clock is ahead of real time, by which blocks are dated. */
export const aheadOf = (clock: Clock): number => clock.ahead?.() ?? clock.now() - systemClock.now();

/** The service's own time, as a clock that is ahead has it. */
export const realTimeOf = (clock: Clock): number => clock.now() - aheadOf(clock);

export const toIso = (ms: number): string => new Date(ms).toISOString();
export const toIsoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms));

/** The same day of the month, `months` later in UTC; the last day of the month where that day does not exist. */
export function addMonths(ms: number, months: number): number {
  const date = new Date(ms);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime();
}
