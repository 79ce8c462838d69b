// When a delivery is retried, and how an endpoint that fails backs off (EVT-26, EVT-27). All instants are real time, whatever a sandbox clock says.
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/limits.ts";

/** The waits after the failed attempts of a delivery. One more failure ends it as `failed`. */
export const RETRY_WAITS_MS = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  10 * HOUR_MS,
] as const;

/** The share by which a wait may be longer, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/** When the next attempt is due after `failed` failures; null after the last one. `random`: 0 to 1. */
export function computeNextAttempt(failed: number, now: number, random: number): number | null {
  const wait = RETRY_WAITS_MS[failed - 1];
  return wait === undefined ? null : now + Math.round(wait * (1 + JITTER * random));
}

/** Deliveries sent to an endpoint at once, deliveries of one claim, and of one claim while the endpoint fails. */
export const SENT_AT_ONCE = 6;
export const CLAIM_SIZE = 18;
export const CLAIM_SIZE_WHILE_FAILING = 2;

/**
 * Claims of one invocation. An invocation may send 1,000 requests and queries, of which a full claim and its outcomes take forty; the object's alarm
 * continues in another one.
 */
export const CLAIMS_PER_INVOCATION = 20;

/** Failures in a row after which an endpoint rests between its attempts. */
const RESTS_AFTER = 20;
const REST_MIN_MS = 5 * SECOND_MS;
const REST_MAX_MS = 5 * MINUTE_MS;

/** The rest doubles with every second failure. */
export const computeRestMs = (inARow: number): number =>
  inARow < RESTS_AFTER ? 0 : Math.min(REST_MAX_MS, REST_MIN_MS * 2 ** Math.floor((inARow - RESTS_AFTER) / 2));
