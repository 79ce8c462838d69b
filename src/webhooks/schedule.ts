// When a delivery is tried again, and how an endpoint that fails rests (EVT-26, EVT-27). Real time, whatever a sandbox's clock says.
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/limits.ts";

/** The waits behind the failed attempts of a delivery. One more failure ends it as `failed`. */
export const RETRY_WAITS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
] as const;

/** How much later than that an attempt may be, so that what failed together does not come back together. */
const JITTER = 0.1;

/** When the next attempt is due, behind so many failed ones; null behind the last. `random`: 0 to 1. */
export function nextAttemptAt(failed: number, now: number, random: number): number | null {
  const wait = RETRY_WAITS_MS[failed - 1];
  return wait === undefined ? null : now + Math.round(wait * (1 + JITTER * random));
}

/** How many deliveries an endpoint is given at once, and how many while it fails. */
export const AT_ONCE = 6;
export const CLAIMED_AT_ONCE = 18;
export const CLAIMED_WHILE_FAILING = 2;

/**
 * The claims of one invocation, which may send a bounded number of requests and queries (1,000; a full claim and its outcomes are forty): the object's
 * alarm goes on in another one.
 */
export const CLAIMS_AT_ONCE = 20;

/** Failures in a row, after which an endpoint rests between its attempts. */
const RESTS_AFTER = 20;
const REST_MIN_MS = 5 * SECOND_MS;
const REST_MAX_MS = 5 * MINUTE_MS;

/** For how long an endpoint rests after so many failures in a row. */
export const restMs = (inARow: number): number =>
  inARow < RESTS_AFTER ? 0 : Math.min(REST_MAX_MS, REST_MIN_MS * 2 ** Math.floor((inARow - RESTS_AFTER) / 2));
