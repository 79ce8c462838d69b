// Bounds how much of one kind of work an isolate does at once, where each piece takes much of its memory.
import { ServiceError } from "./errors.ts";
import { SECOND_MS } from "./limits.ts";

const LOOK_MS = 25;
const RETRY_SECONDS = "2";

type Turns = {
  /** How many run at once of each key. */
  readonly atOnce: number;
  /** How many run at once of all keys: whoever waits for either waits once. */
  readonly inAll: number;
  readonly patienceSeconds: number;
  /** After which a turn counts no more: a request that the runtime has dropped never gives its own back. */
  readonly leaseSeconds: number;
  /**
   * How many times as long as the work took its place stays taken afterwards. Work that blocks the isolate leaves so much of its time to others,
   * however slow the machine is.
   */
  readonly rest?: number;
};

/** Reads real time in milliseconds, and waits in it. */
type Timer = { readonly now: () => number; readonly wait: (ms: number) => Promise<unknown> };
const TIMER: Timer = { now: () => Date.now(), wait: (ms) => scheduler.wait(ms) };

/**
 * Runs at most `atOnce` of a key and `inAll` of all at a time. Others look again every moment, and are refused with 429 when their patience ends: a
 * request waits on its own timer, because it may not be woken by another request.
 */
export function turnsOf(
  { atOnce, inAll, patienceSeconds, leaseSeconds, rest = 0 }: Turns,
  { now, wait }: Timer = TIMER,
) {
  /** The turns that are taken, with the instants of their ends. */
  const taken = new Set<{ readonly key: string; until: number }>();
  const isFull = (key: string): boolean => {
    for (const turn of taken) if (turn.until <= now()) taken.delete(turn);
    return taken.size >= inAll || [...taken].filter((turn) => turn.key === key).length >= atOnce;
  };
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    // By the clock: on a busy machine a pause takes longer than it is asked to.
    const patience = now() + patienceSeconds * SECOND_MS;
    while (isFull(key)) {
      if (now() >= patience) {
        throw new ServiceError("rate_limited", { headers: { "Retry-After": RETRY_SECONDS } });
      }
      await wait(LOOK_MS);
    }
    const begun = now();
    const turn = { key, until: begun + leaseSeconds * SECOND_MS };
    taken.add(turn);
    try {
      return await work();
    } finally {
      // Also where the runtime drops the request while it waits here, as it does when its client leaves.
      turn.until = now() + LOOK_MS;
      // Its clock stands while the isolate computes.
      if (rest > 0) await wait(0);
      turn.until = now() + rest * (now() - begun);
    }
  };
}
