// Time as an argument: domain code reads a Clock and never the system's. Instants are epoch milliseconds inside and ISO 8601 in UTC on the wire
// (HTTP-3).
import { ServiceError } from "./errors.ts";
import { DAY_MS, SECOND_MS } from "./limits.ts";

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

// ---- Due rows -----------------------------------------------------------------------------------------------------------

/** The instant since which a row is due, in epoch milliseconds, and its id, which breaks ties. */
export type Due = { readonly at: number; readonly id: string };

export const BEFORE_FIRST_DUE: Due = { at: Number.MIN_SAFE_INTEGER, id: "" };

export const isAfterPosition =
  (after: Due | null) =>
  ({ at, id }: Due): boolean =>
    after === null || at > after.at || (at === after.at && id > after.id);

// ---- Requests of a day --------------------------------------------------------------------------------------------------

// Limits an action that costs the service gas to a number in 24 hours of real time, by the instants of earlier requests (MKT-24, MKT-29).

/**
 * Returns the instants of the last day, followed by `further` new ones.
 * @throws ServiceError `rate_limited` when they exceed the limit
 */
export function addDailyRequests(
  asks: readonly number[] | null,
  further: number,
  now: number,
  { most, message, detail }: DailyLimit,
): readonly number[] {
  const last = filterLastDay(asks, now);
  const over = last.length + further - most;
  if (over <= 0) return [...last, ...Array.from({ length: further }, () => now)];
  const free = last[over - 1] ?? now;
  const seconds = Math.ceil((free + DAY_MS - now) / SECOND_MS);
  throw new ServiceError("rate_limited", {
    message,
    headers: { "Retry-After": String(seconds) },
    ...(detail && { detail }),
  });
}

/** `most`: the limit in 24 hours. `message`, `detail`: the answer to a caller who exceeds it. */
type DailyLimit = {
  readonly most: number;
  readonly message: string;
  readonly detail?: Readonly<Record<string, unknown>>;
};

export const filterLastDay = (asks: readonly number[] | null, now: number): number[] =>
  (asks ?? []).filter((at) => at > now - DAY_MS);
