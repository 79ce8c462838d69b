// How much an account may record in a UTC day of real time (EVT-35): its events, each counted once and once more for each endpoint that gets it, and
// their bytes. The fan-out job marks an account that has reached a quota. Also the refusal of a call that needs a confirmation.
import { toIso } from "./clock.ts";
import { ServiceError } from "./errors.ts";
import { CONFIRMATION_MINUTES, DAY_MS, SECOND_MS } from "./limits.ts";
import type { Environment } from "./vocabulary.ts";

export const VOLUME_QUOTAS = ["events", "event_bytes"] as const;
export type VolumeQuota = (typeof VOLUME_QUOTAS)[number];
export type Volume = { readonly [Q in VolumeQuota]: number };

export type VolumeMark = { readonly quota: VolumeQuota; readonly until: number };
export type VolumeMarks = { readonly [E in Environment]?: VolumeMark };

export const toVolumeDay = (now: number): number => Math.floor(now / DAY_MS);
export const computeVolumeDayEnd = (now: number): number => (toVolumeDay(now) + 1) * DAY_MS;

export function findVolumeMark(marks: VolumeMarks | null, environment: Environment, now: number): VolumeMark | null {
  const mark = marks?.[environment];
  return mark && mark.until > now ? mark : null;
}

export function findVolumeRefusal(
  marks: VolumeMarks | null,
  environment: Environment,
  limits: Volume,
  now: number,
): ServiceError | undefined {
  const mark = findVolumeMark(marks, environment, now);
  if (mark === null) return undefined;
  const { quota, until } = mark;
  return new ServiceError("rate_limited", {
    message: `The account has used up its ${quota} of the day in the ${environment}. Calls that stop or end something still work.`,
    detail: { quota, limit: limits[quota], resets_at: toIso(until) },
    headers: { "Retry-After": String(Math.ceil((until - now) / SECOND_MS)) },
  });
}

/**
 * Requires a fresh proof of the person (CRED-30), so that a stolen session cannot rotate a key, promote the account, or redirect its money and notices.
 * A key needs no confirmation. The first trip alone is judged: until the commit a session only grows older, and an ended session writes nothing.
 * @throws ServiceError `forbidden`, which is not stored under an Idempotency-Key: after the confirmation the same call succeeds
 */
export function requireConfirmed({ isConfirmed }: { readonly isConfirmed: boolean }): void {
  if (isConfirmed) return;
  const message =
    `This call needs a log-in or a confirmation within the last ${CONFIRMATION_MINUTES} minutes: ` +
    "confirm at POST /v1/platform/sessions/current/confirm, then repeat the call.";
  throw new ServiceError("forbidden", { message, type: "confirmation_required", unkept: true });
}
