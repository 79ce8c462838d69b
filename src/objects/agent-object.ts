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

export class AgentObject extends DurableObject {
  private last: Promise<void> = Promise.resolve();

  /** Resolves when every earlier lock is released. */
  async lock(): Promise<AgentLock> {
    const before = this.last;
    let release: () => void = () => undefined;
    this.last = new Promise((resolve) => {
      release = resolve;
    });
    await before;
    const lease = setTimeout(release, LEASE_MS);
    return new AgentLock(() => {
      clearTimeout(lease);
      release();
    });
  }
}
