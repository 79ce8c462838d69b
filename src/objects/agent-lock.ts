// The locks of agents, as their holders see them.
import { Conflict, retryConflicts } from "../core/retry.ts";
import type { AgentObject } from "./agent-object.ts";

type AgentsBinding = { readonly AGENTS: DurableObjectNamespace<AgentObject> };

const TRIES_UNDER_LOCKS = 4;

/** Given back when it is disposed. `waited`: others held it when it was asked for. */
export type HeldLock = Disposable & { readonly waited: boolean };

export const lockAgent = ({ AGENTS }: AgentsBinding, did: string): Promise<HeldLock> =>
  AGENTS.get(AGENTS.idFromName(did)).lock();

/**
 * What many callers may change at once (two agents' rating sums) is tried at once, and after a conflict under the locks of every
 * agent that it touches: a busy agent's changes then come one after the other instead of starving each other. `attempt` reads,
 * decides and commits; it names the agents that it touches before it commits.
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
    // Always in one order, so that two that want the same two agents never wait for each other.
    for (const did of [...new Set(touched)].sort()) held.push(await lockAgent(binding, did));
    return await retryConflicts(TRIES_UNDER_LOCKS, () => attempt(touches));
  } finally {
    for (const lock of held) lock[Symbol.dispose]();
  }
}
