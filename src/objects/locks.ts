// Takes locks by the id of an object: of agents for each transition (AGT-27), and of any object after a conflict (HTTP-42).
import { SECOND_MS } from "../core/limits.ts";
import { Conflict, retryConflicts } from "../core/retry.ts";
import type { AgentObject } from "./durable-objects.ts";

type AgentsBinding = { readonly AGENTS: DurableObjectNamespace<AgentObject> };

/** After this wait, a call or a retry goes on without the lock, because the conditional batch keeps it correct. */
const CALL_WAIT_MS = 5 * SECOND_MS;
export const RETRY_WAIT_MS = 10 * SECOND_MS;

export type HeldLock = Disposable & { readonly waited: boolean };

/** Returns null if others hold the lock for longer than `waitMs`, or if its object fails, as when a new version of the Worker resets it. */
export async function takeLock(
  { AGENTS }: AgentsBinding,
  id: string,
  waitMs: number = CALL_WAIT_MS,
  leaseMs?: number,
): Promise<HeldLock | null> {
  try {
    return await AGENTS.get(AGENTS.idFromName(id)).lock(waitMs, leaseMs);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "unknown";
    console.error(JSON.stringify({ event: "lock_failed", id, message }));
    return null;
  }
}

/**
 * Makes a change that many callers may make at once. Only after a conflict, it takes the locks of every agent that the change touches, so that the
 * changes of a busy agent queue instead of starving each other. `attempt` reads, decides and commits, and names its agents before it commits.
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
  const held: (HeldLock | null)[] = [];
  try {
    // Locks are taken in one order, so that two callers with the same two agents never deadlock.
    for (const did of [...new Set(touched)].sort()) held.push(await takeLock(binding, did, RETRY_WAIT_MS));
    return await retryConflicts(() => attempt(touches));
  } finally {
    for (const lock of held) lock?.[Symbol.dispose]();
  }
}
