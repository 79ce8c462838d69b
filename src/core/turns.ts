// Bounds how much of one kind of work an isolate does at once, where each piece takes much of its memory.
import { ServiceError } from "./errors.ts";
import { SECOND_MS } from "./limits.ts";

const TURN_POLL_MS = 25;
const RETRY_SECONDS = "2";

type Turns = {
  readonly atOnce: number;
  /** How many run at once for all keys together. A caller that waits for both limits waits only once. */
  readonly inAll: number;
  readonly patienceSeconds: number;
  /** A turn no longer counts after this time: a request that the runtime has dropped never releases its turn. */
  readonly leaseSeconds: number;
  /** After its work a turn stays taken for this many times as long as the work took, so that work which blocks the isolate leaves time to others. */
  readonly rest?: number;
};

/** Real time in milliseconds. */
type Timer = { readonly now: () => number; readonly wait: (ms: number) => Promise<unknown> };
const TIMER: Timer = { now: () => Date.now(), wait: (ms) => scheduler.wait(ms) };

/**
 * Runs at most `atOnce` of a key and `inAll` of all at a time. Other callers check again at short intervals, and get 429 when their patience ends: a
 * request waits on its own timer, because another request may not wake it.
 */
export function limitTurns(
  { atOnce, inAll, patienceSeconds, leaseSeconds, rest = 0 }: Turns,
  { now, wait }: Timer = TIMER,
) {
  /** The taken turns with the instants at which they end. */
  const taken = new Set<{ readonly key: string; until: number }>();
  const isFull = (key: string): boolean => {
    for (const turn of taken) if (turn.until <= now()) taken.delete(turn);
    return taken.size >= inAll || [...taken].filter((turn) => turn.key === key).length >= atOnce;
  };
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    // Compared with the clock: on a busy machine a pause takes longer than requested.
    const patience = now() + patienceSeconds * SECOND_MS;
    while (isFull(key)) {
      if (now() >= patience) {
        throw new ServiceError("rate_limited", { headers: { "Retry-After": RETRY_SECONDS } });
      }
      await wait(TURN_POLL_MS);
    }
    const begun = now();
    const turn = { key, until: begun + leaseSeconds * SECOND_MS };
    taken.add(turn);
    try {
      return await work();
    } finally {
      // A short lease in case the runtime drops the request in the wait below, as it does when the client leaves.
      turn.until = now() + TURN_POLL_MS;
      // The isolate's clock stands still while it computes, so this wait updates it.
      if (rest > 0) await wait(0);
      turn.until = now() + rest * (now() - begun);
    }
  };
}
