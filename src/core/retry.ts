// Optimistic concurrency: a write that is refused because the state has changed is decided again on a fresh reading.

/** The state that a commit was decided on has changed: read and decide again. */
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
