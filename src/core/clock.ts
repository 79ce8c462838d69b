// Time as an argument: domain code reads a Clock and never the system's. Instants are epoch milliseconds inside and ISO 8601 in UTC on the wire
// (HTTP-3).

/** `ahead`: how many milliseconds the clock runs ahead of real time, if it knows this exactly. */
export type Clock = { readonly now: () => number; readonly ahead?: () => number };

export const systemClock: Clock = { now: () => Date.now(), ahead: () => 0 };

/** How many milliseconds a clock runs ahead of real time, in which blocks are dated. */
export const measureAhead = (clock: Clock): number => clock.ahead?.() ?? clock.now() - systemClock.now();

export const toRealTime = (clock: Clock): number => clock.now() - measureAhead(clock);

export const toIso = (ms: number): string => new Date(ms).toISOString();
export const toIsoOrNull = (ms: number | null): string | null => (ms === null ? null : toIso(ms));

/** Keeps the day of the month in UTC, or takes the month's last day if that day does not exist. */
export function addMonths(ms: number, months: number): number {
  const date = new Date(ms);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime();
}
