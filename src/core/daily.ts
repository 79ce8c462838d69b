// What may be asked for so often in 24 hours of real time, because each costs the service gas (MKT-24, MKT-29): by the instants at which it was.
import { ServiceError } from "./errors.ts";
import { DAY_MS, SECOND_MS } from "./limits.ts";

export const inLastDay = (asks: readonly number[] | null, now: number): number[] =>
  (asks ?? []).filter((at) => at > now - DAY_MS);

/** `most`: in 24 hours. `message`, `detail`: what the caller is told where they are too many. */
type Bound = { readonly most: number; readonly message: string; readonly detail?: Readonly<Record<string, unknown>> };

/**
 * The instants of the last day with further ones.
 * @throws ServiceError `rate_limited` when they are too many
 */
export function withFurther(
  asks: readonly number[] | null,
  further: number,
  now: number,
  { most, message, detail }: Bound,
): readonly number[] {
  const last = inLastDay(asks, now);
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
