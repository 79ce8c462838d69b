// One object per Idempotency-Key: it orders requests in flight. It remembers nothing for good: what a key answered
// stands in D1, written with the effect.
import { DurableObject } from "cloudflare:workers";
import { IDEMPOTENCY_LEASE_SECONDS, SECOND_MS } from "../core/limits.ts";

export type Begun = { state: "go"; token: string } | { state: "processing" } | { state: "other_body" };

export class IdempotencyObject extends DurableObject {
  private inFlight: { token: string; bodyHash: string; until: number } | null = null;

  /** Takes the key for at most the lease: a request that crashed frees it 30 s later. */
  begin(bodyHash: string): Begun {
    const now = Date.now();
    if (this.inFlight && this.inFlight.until > now) {
      return this.inFlight.bodyHash === bodyHash ? { state: "processing" } : { state: "other_body" };
    }
    const token = crypto.randomUUID();
    this.inFlight = { token, bodyHash, until: now + IDEMPOTENCY_LEASE_SECONDS * SECOND_MS };
    return { state: "go", token };
  }

  end(token: string): void {
    if (this.inFlight?.token === token) this.inFlight = null;
  }
}
