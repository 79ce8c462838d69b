// Limits an action that costs the service gas to a number in 24 hours of real time, by the instants of earlier requests (MKT-24, MKT-29).
import { ServiceError } from "./errors.ts";
import { DAY_MS, SECOND_MS } from "./limits.ts";

export const filterLastDay = (asks: readonly number[] | null, now: number): number[] =>
  (asks ?? []).filter((at) => at > now - DAY_MS);

/** `most`: the limit in 24 hours. `message`, `detail`: the answer to a caller who exceeds it. */
type DailyLimit = {
  readonly most: number;
  readonly message: string;
  readonly detail?: Readonly<Record<string, unknown>>;
};

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
