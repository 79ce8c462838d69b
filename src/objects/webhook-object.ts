// One object per endpoint: whoever has deliveries for it wakes it, and it works on nothing else, so that none holds up another (EVT-25).
import { DurableObject } from "cloudflare:workers";

export abstract class WebhookObject<E = unknown> extends DurableObject<E> {
  /** Returns at once. `afresh`: its owner has changed or asked something, so it rests no longer. */
  abstract wake(webhookId: string, afresh?: boolean): void | Promise<void>;
}
