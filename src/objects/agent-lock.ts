// Takes the locks of agents (AGT-27).
import { Conflict, retryConflicts } from "../core/retry.ts";
import type { AgentObject } from "./agent-object.ts";

type AgentsBinding = { readonly AGENTS: DurableObjectNamespace<AgentObject> };

/** Given back when it is disposed. `waited`: others held it when it was asked for. */
export type HeldLock = Disposable & { readonly waited: boolean };

export const lockAgent = ({ AGENTS }: AgentsBinding, did: string): Promise<HeldLock> =>
  AGENTS.get(AGENTS.idFromName(did)).lock();

/**
 * Tries a change that many callers may make at once (two agents' rating sums) without locks first, and after a conflict under the locks
 * of every agent that it touches, so that the changes of a busy agent queue instead of starving each other. `attempt` reads, decides
 * and commits, and names the agents that it touches before it commits.
 */
export async function retryUnderLocks<T>(
  binding: AgentsBinding,
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
    // Always in one order, so that two callers with the same two agents never deadlock.
    for (const did of [...new Set(touched)].sort()) held.push(await lockAgent(binding, did));
    return await retryConflicts(() => attempt(touches));
  } finally {
    for (const lock of held) lock[Symbol.dispose]();
  }
}
