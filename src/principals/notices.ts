// When the end of an attestation is announced: 30, 7 and 1 days before, once each. If several notices are due, only the nearest to the end is sent
// (PRN-26). Pure.
import { DAY_MS } from "../core/limits.ts";

/** Farthest from the end first. */
const NOTICE_DAYS = [30, 7, 1] as const;
export type NoticeDays = (typeof NOTICE_DAYS)[number];

export const FARTHEST_NOTICE_DAYS = NOTICE_DAYS[0];

const computeNoticeInstant = (expiresAt: number, days: NoticeDays): number => expiresAt - days * DAY_MS;

/** The first notice of an attestation that is recorded now: at once if its time has come, null if the attestation has ended. */
export const computeFirstNotice = (expiresAt: number, now: number): number | null =>
  expiresAt <= now ? null : Math.max(now, computeNoticeInstant(expiresAt, FARTHEST_NOTICE_DAYS));

/**
 * The first notice of an attestation that follows another. An earlier instant stays, which saves a write of the index: the job finds no notice due
 * then, and moves the instant on.
 */
export const computeRenewedNotice = (known: number | null, expiresAt: number, now: number): number | null => {
  const first = computeFirstNotice(expiresAt, now);
  return known === null || first === null ? first : Math.min(known, first);
};

/** The notice that is due now: the nearest to the end whose time has come. Null before the first notice, and from the end on. */
export const pickDueNotice = (expiresAt: number, now: number): NoticeDays | null =>
  expiresAt <= now ? null : (NOTICE_DAYS.findLast((days) => computeNoticeInstant(expiresAt, days) <= now) ?? null);

/** The instant of the notice after those that are due now; null after the last. */
export const computeNextNotice = (expiresAt: number, now: number): number | null => {
  const next = NOTICE_DAYS.find((days) => computeNoticeInstant(expiresAt, days) > now);
  return next === undefined ? null : computeNoticeInstant(expiresAt, next);
};
