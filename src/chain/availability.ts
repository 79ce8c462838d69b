// Decides whether a network takes new intents (PAY-24): not while its follower stays far behind the head although it was triggered, while the
// contract is paused, or while a key of the service is low on gas. Pure; real time.
import { FOLLOWER_LATE_SECONDS, FOLLOWER_LOST_SECONDS, SECOND_MS } from "../core/limits.ts";

export type NetworkAvailability = {
  readonly network: string;
  /** Every payment up to this instant was seen; 0 if the network was never read. */
  readonly readThrough: number;
  readonly paused: boolean;
  readonly sentAt: number;
  readonly behindSince: number | null;
  readonly lowGasUntil: number;
};

export const CLOSURES = ["lag", "paused", "low_gas"] as const;
export type Closure = (typeof CLOSURES)[number];

const LATE_MS = FOLLOWER_LATE_SECONDS * SECOND_MS;
const LOST_MS = FOLLOWER_LOST_SECONDS * SECOND_MS;

/** Returns null if the network takes new intents. */
export function findClosure({ readThrough, paused, behindSince, lowGasUntil }: NetworkAvailability, now: number) {
  const lost = behindSince !== null && now > behindSince + LOST_MS && now > readThrough + LOST_MS;
  return lost ? "lag" : paused ? "paused" : now < lowGasUntil ? "low_gas" : null;
}

export const isFollowerLate = ({ readThrough }: Pick<NetworkAvailability, "readThrough">, now: number): boolean =>
  now > readThrough + LATE_MS;

/** True if a call should trigger the late follower. False if another call has just done so. */
export const shouldTriggerFollower = (standing: NetworkAvailability, now: number): boolean =>
  isFollowerLate(standing, now) && now > standing.sentAt + LATE_MS;

/** Returns null for a network that was never read. */
export const computeLagSeconds = ({ readThrough }: NetworkAvailability, now: number): number | null =>
  readThrough === 0 ? null : Math.max(0, Math.floor((now - readThrough) / SECOND_MS));
