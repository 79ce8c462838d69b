// One object per agent: it gives the agent's transitions an order, first come first served. Correctness lives in the
// conditional batch; this keeps racing callers from meeting there. A Durable Object does not serialise its own calls
// across an await, so the queue is a chain of promises (never blockConcurrencyWhile).
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { SECOND_MS } from "../core/limits.ts";

const LEASE_MS = 10 * SECOND_MS;

/** Held while the caller works; given back when it is disposed, when the caller dies, or when the lease is over. */
export class Turn extends RpcTarget {
  readonly #done: () => void;

  constructor(done: () => void) {
    super();
    this.#done = done;
  }

  [Symbol.dispose](): void {
    this.#done();
  }
}

export class AgentObject extends DurableObject {
  private last: Promise<void> = Promise.resolve();

  async turn(): Promise<Turn> {
    const before = this.last;
    let done: () => void = () => undefined;
    this.last = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    const lease = setTimeout(done, LEASE_MS);
    return new Turn(() => {
      clearTimeout(lease);
      done();
    });
  }
}
