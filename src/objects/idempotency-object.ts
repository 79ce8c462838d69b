// One object per credential orders the requests in flight under each of its Idempotency-Keys (IDM-5). An object for each key would have to be
// created with almost every call, which takes longer than the call. It stores nothing: outcomes are in D1, written with the effect.
import { DurableObject } from "cloudflare:workers";
import { IDEMPOTENCY_LEASE_SECONDS, SECOND_MS } from "../core/limits.ts";

export type Begun = { state: "go"; token: string } | { state: "processing" } | { state: "other_body" };

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
