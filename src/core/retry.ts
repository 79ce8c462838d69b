// Optimistic concurrency: a write that is refused because the state has changed is decided again on a fresh reading.

/** The state that a commit was decided on has changed: read and decide again. */
import { ServiceError } from "./errors.ts";
import { SECOND_MS } from "./limits.ts";

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

// Works through a list with a bounded number of entries at a time.

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

// Bounds how much of one kind of work an isolate does at once, where each piece takes much of its memory.

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

// Default-ignorable characters that a correctly written name needs (HTTP-8), in the sense of RFC 5892, appendix A: joiners in some scripts, and
// variants of Han characters.

/** The characters of canonical combining class 9 (Unicode 14). */

const VIRAMAS = [
  0x94d, 0x9cd, 0xa4d, 0xacd, 0xb4d, 0xbcd, 0xc4d, 0xccd, 0xd3b, 0xd3c, 0xd4d, 0xdca, 0xe3a, 0xeba, 0xf84, 0x1039,
  0x103a, 0x1714, 0x1715, 0x1734, 0x17d2, 0x1a60, 0x1b44, 0x1baa, 0x1bab, 0x1bf2, 0x1bf3, 0x2d7f, 0xa806, 0xa82c,
  0xa8c4, 0xa953, 0xa9c0, 0xaaf6, 0xabed, 0x10a3f, 0x11046, 0x11070, 0x1107f, 0x110b9, 0x11133, 0x11134, 0x111c0,
  0x11235, 0x112ea, 0x1134d, 0x11442, 0x114c2, 0x115bf, 0x1163f, 0x116b6, 0x1172b, 0x11839, 0x1193d, 0x1193e, 0x119e0,
  0x11a34, 0x11a47, 0x11a99, 0x11c3f, 0x11d44, 0x11d45, 0x11d97,
];
const AFTER_VIRAMA = `(?<=[${String.fromCodePoint(...VIRAMAS)}])`;
const CURSIVE = String.raw`[[\p{L}\p{M}]&&[\p{scx=Arabic}\p{scx=Syriac}\p{scx=Mongolian}\p{scx=Nko}]]`;

/** U+200C and U+200D between cursive letters or after a virama, and U+E0100 to U+E01EF after a Han character. */
const NEEDED_JOINER = new RegExp(
  String.raw`(?:(?<=${CURSIVE})[\u200c\u200d](?=${CURSIVE})|${AFTER_VIRAMA}[\u200c\u200d]|(?<=\p{sc=Han})[\u{e0100}-\u{e01ef}])`,
  "gv",
);
const ANY_JOINER = /\u200c|\u200d|[\u{e0100}-\u{e01ef}]/gu;

export const removeNeededJoiners = (name: string): string => name.replace(NEEDED_JOINER, "");
/** For comparisons: names that differ only in joiners are equal. */
export const removeJoiners = (name: string): string => name.replace(ANY_JOINER, "");

// Values that are computed once for an object and live as long as it does: parsed configuration, imported keys.

/** `make` runs once for each key. A rejected promise is kept too, so `make` must not fail by chance. */

export function memoizeBy<K extends object, V>(make: (key: K) => V): (key: K) => V {
  const made = new WeakMap<K, { value: V }>();
  return (key) => {
    const known = made.get(key) ?? { value: make(key) };
    made.set(key, known);
    return known.value;
  };
}
