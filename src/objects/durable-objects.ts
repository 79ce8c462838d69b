// The Durable Objects that put concurrent work in order. A Durable Object does not serialise its own calls across an await, so the queues here are
// chains of promises (never blockConcurrencyWhile).
import { DurableObject, RpcTarget } from "cloudflare:workers";
import { IDEMPOTENCY_LEASE_SECONDS, SECOND_MS } from "../core/limits.ts";

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

/** One object per agent: a lock that keeps racing transitions apart, first come first served (AGT-27). The conditional batch makes them correct. */
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

export type Begun = { state: "go"; token: string } | { state: "processing" } | { state: "other_body" };

/**
 * One object per credential orders the requests in flight under each of its Idempotency-Keys (IDM-5); creating an object for each key takes longer than
 * a call. It stores nothing: outcomes are in D1, written with the effect.
 */
export class IdempotencyObject extends DurableObject {
  /** Ordered by when the keys were taken, which is also the order in which their leases end. */
  private readonly inFlight = new Map<string, { token: string; bodyHash: string; until: number }>();

  /** Takes the key for at most the lease, so that a crashed request frees it after 30 s. */
  begin(requestKey: string, bodyHash: string): Begun {
    const now = Date.now();
    for (const [key, { until }] of this.inFlight) {
      if (until > now) break;
      this.inFlight.delete(key);
    }
    const held = this.inFlight.get(requestKey);
    if (held) return held.bodyHash === bodyHash ? { state: "processing" } : { state: "other_body" };
    const token = crypto.randomUUID();
    this.inFlight.set(requestKey, { token, bodyHash, until: now + IDEMPOTENCY_LEASE_SECONDS * SECOND_MS });
    return { state: "go", token };
  }

  end(requestKey: string, token: string): void {
    if (this.inFlight.get(requestKey)?.token === token) this.inFlight.delete(requestKey);
  }
}

/** Rows for one recorder. `ahead`: by how many milliseconds the caller's clock is ahead of real time. */
export type DuePart = { readonly recorder: string; readonly ids: readonly string[]; readonly ahead: number };

/** One object per platform records due rows of its sandbox before an advance of the clock answers (ACC-28). Each call has its own limits (JOB-12). */
export abstract class SandboxObject<E = unknown> extends DurableObject<E> {
  private last: Promise<unknown> = Promise.resolve();

  /** Returns the rows that are not completely recorded yet. */
  abstract record(part: DuePart): Promise<string[]>;

  protected inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.last.then(work, work);
    this.last = turn;
    return turn;
  }
}

/** One object per endpoint sends its deliveries, so that no endpoint delays another (EVT-25). Code that queues a delivery wakes it. */
export abstract class WebhookObject<E = unknown> extends DurableObject<E> {
  /** Returns at once. `afresh`: ends the object's rest, because the endpoint's owner changed or requested something. */
  abstract wake(webhookId: string, afresh?: boolean): void | Promise<void>;
}
