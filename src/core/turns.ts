// Bounds how much of one kind of work an isolate does at once, where each piece takes much of its memory.
import { ServiceError } from "./errors.ts";
import { SECOND_MS } from "./limits.ts";

const LOOK_MS = 25;
const RETRY_SECONDS = "2";

type Turns = {
  /** How many run at once, for each key. */
  readonly atOnce: number;
  readonly patienceSeconds: number;
  /** After which a turn counts no more: a request that the runtime has dropped never gives its own back. */
  readonly leaseSeconds: number;
};

/** Reads real time, and waits in it. */
type Timer = { readonly now: () => number; readonly wait: (ms: number) => Promise<unknown> };
const TIMER: Timer = { now: () => Date.now(), wait: (ms) => scheduler.wait(ms) };

/**
 * Runs at most `atOnce` of a key at a time. Others look again every moment, and are refused with 429 when their patience ends: a request
 * waits on its own timer, because it may not be woken by another request.
 */
export function turnsOf({ atOnce, patienceSeconds, leaseSeconds }: Turns, { now, wait }: Timer = TIMER) {
  /** The turns that are taken, as the instants of their ends. */
  const taken = new Map<string, Set<{ readonly until: number }>>();
  const isFull = (turns: Set<{ readonly until: number }>): boolean => {
    for (const turn of turns) if (turn.until <= now()) turns.delete(turn);
    return turns.size >= atOnce;
  };
  return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const turns = taken.get(key) ?? new Set();
    taken.set(key, turns);
    // By the clock: on a busy machine a pause takes longer than it is asked to.
    const patience = now() + patienceSeconds * SECOND_MS;
    while (isFull(turns)) {
      if (now() >= patience) {
        throw new ServiceError("rate_limited", { headers: { "Retry-After": RETRY_SECONDS } });
      }
      await wait(LOOK_MS);
    }
    const turn = { until: now() + leaseSeconds * SECOND_MS };
    turns.add(turn);
    try {
      return await work();
    } finally {
      turns.delete(turn);
      if (turns.size === 0 && taken.get(key) === turns) taken.delete(key);
    }
  };
}
