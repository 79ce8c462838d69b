// One object per agent: a lock that orders the agent's transitions, first come first served (AGT-27). The conditional batch makes them
// correct; the lock only keeps racing callers apart. A Durable Object does not serialise its own calls across an await, so the queue is
// a chain of promises (never blockConcurrencyWhile).
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { SECOND_MS } from "../core/limits.ts";

const LEASE_MS = 10 * SECOND_MS;

/** Held while the caller works; released when it is disposed, when the caller dies, or when the lease ends. */
export class AgentLock extends RpcTarget {
  readonly #release: () => void;

  constructor(release: () => void) {
    super();
    this.#release = release;
  }

  [Symbol.dispose](): void {
    this.#release();
  }
}

/** `waited`: others held the lock when it was requested, so data of the agent that was read before the grant may be stale. */
export type GrantedLock = { readonly lock: AgentLock; readonly waited: boolean };

export class AgentObject extends DurableObject {
  private last: Promise<void> = Promise.resolve();
  private holders = 0;

  /** Resolves when every earlier lock is released. Resolves to null, and holds nothing, if that takes longer than `waitMs`. */
  async lock(waitMs: number, leaseMs = LEASE_MS): Promise<GrantedLock | null> {
    const before = this.last;
    const waited = this.holders > 0;
    this.holders += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.last = promise;
    let held = true;
    const release = () => {
      if (held) this.holders -= 1;
      held = false;
      resolve();
    };
    if (!(await resolvesWithin(before, waitMs))) {
      // Later callers still wait for the earlier locks.
      before.then(release);
      return null;
    }
    const lease = setTimeout(release, leaseMs);
    const lock = new AgentLock(() => {
      clearTimeout(lease);
      release();
    });
    return { lock, waited };
  }
}

async function resolvesWithin(awaited: Promise<void>, waitMs: number): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), waitMs);
  const ended = await Promise.race([awaited.then(() => true), timeout]);
  clearTimeout(timer);
  return ended;
}
