// Decides again after a refused write, bounds how many pieces of work run at a time, and computes values once.
import { ServiceError } from "./errors.ts";
import { SECOND_MS } from "./limits.ts";

// ---- Conflicts ----------------------------------------------------------------------------------------------------------

/** The state that a commit was decided on has changed since it was read: the change is decided again on a fresh reading. */
export class Conflict extends Error {
  constructor(cause?: unknown) {
    super("the batch was refused: a row changed since it was read", { cause });
    this.name = "Conflict";
  }
}

/**
 * Attempts to decide a change, for every loop. One of the writers of a row succeeds in each round, so this many may meet by chance; where more meet
 * by design, values are changed relatively in SQL or the writers queue for a lock.
 */
export const CONFLICT_TRIES = 6;

/** Runs `attempt` again after a Conflict. The last Conflict is thrown. */
export async function retryConflicts<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await attempt();
    } catch (thrown) {
      if (!(thrown instanceof Conflict) || tried >= CONFLICT_TRIES) throw thrown;
    }
  }
}

/** Returns false after a Conflict: what was to be done is still due, and a later run decides it on a fresh reading. */
export async function leaveConflicts(run: () => Promise<boolean>): Promise<boolean> {
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof Conflict) return false;
    throw thrown;
  }
}

// ---- Many at a time -----------------------------------------------------------------------------------------------------

/** The runtime's limit of concurrent requests in one invocation. */
const CONCURRENCY = 6;

/** `work` must not throw: no entry may stop the others. */
export async function runConcurrently<T>(
  entries: readonly T[],
  work: (entry: T) => Promise<void>,
  atOnce = CONCURRENCY,
): Promise<void> {
  const waiting = entries.values();
  const worker = async () => {
    for (const entry of waiting) await work(entry);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, entries.length) }, worker));
}

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

const TURN_POLL_MS = 25;
const RETRY_SECONDS = "2";

type Timer = { readonly now: () => number; readonly wait: (ms: number) => Promise<unknown> };
const TIMER: Timer = { now: () => Date.now(), wait: (ms) => scheduler.wait(ms) };

/**
 * Runs at most `atOnce` of a key and `inAll` of all at a time, for work that takes much of an isolate's memory. Other callers check again at short
 * intervals, and get 429 when their patience ends: a request waits on its own timer, because another request may not wake it.
 */
export function limitTurns(
  { atOnce, inAll, patienceSeconds, leaseSeconds, rest = 0 }: Turns,
  { now, wait }: Timer = TIMER,
) {
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

// ---- Once ---------------------------------------------------------------------------------------------------------------

/**
 * For values that live as long as an object does: parsed configuration, imported keys. `make` runs once for each key. A rejected promise is kept too,
 * so `make` must not fail by chance.
 */
export function memoizeBy<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { value: V }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}
