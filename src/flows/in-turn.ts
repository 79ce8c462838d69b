// What many callers may change at once (two agents' rating sums) is tried at once, and after a collision in the turn of
// every agent that it touches: a busy agent's changes then come one after the other instead of starving each other.
import type { Deps } from "../context.ts";
import { Conflict } from "../db/batch.ts";

const TRIES_IN_TURN = 4;

/** `attempt` reads, decides and commits; it names the agents that it touches before it commits. */
export async function inTurn<T>(
  deps: Deps,
  attempt: (touches: (dids: readonly string[]) => void) => Promise<T>,
): Promise<T> {
  let touched: readonly string[] = [];
  const touches = (dids: readonly string[]) => {
    touched = dids;
  };
  try {
    return await attempt(touches);
  } catch (thrown) {
    if (!(thrown instanceof Conflict) || touched.length === 0) throw thrown;
  }
  const held: Disposable[] = [];
  try {
    // Always in one order, so that two that want the same two agents never wait for each other.
    for (const did of [...new Set(touched)].sort()) {
      held.push(await deps.env.AGENTS.get(deps.env.AGENTS.idFromName(did)).turn());
    }
    return await retried(() => attempt(touches));
  } finally {
    for (const turn of held) turn[Symbol.dispose]();
  }
}

async function retried<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (thrown) {
      if (!(thrown instanceof Conflict) || tries >= TRIES_IN_TURN) throw thrown;
    }
  }
}
