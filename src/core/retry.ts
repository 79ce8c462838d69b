// What is decided on a reading and refused at the write is decided again on a fresh reading.

/** The state a commit was decided on is no longer the state: read again and decide again. */
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
