// Optimistic concurrency: a write that is refused because the state has changed is decided again on a fresh reading.

/** The state that a commit was decided on has changed: read and decide again. */
export class Conflict extends Error {
  constructor(cause?: unknown) {
    super("the batch was refused: what it was decided on has changed", { cause });
    this.name = "Conflict";
  }
}

/** Runs `attempt` up to `tries` times, again only after a Conflict. The last Conflict is thrown. */
export async function retryConflicts<T>(tries: number, attempt: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await attempt();
    } catch (thrown) {
      if (!(thrown instanceof Conflict) || tried >= tries) throw thrown;
    }
  }
}
