// One object per endpoint sends the deliveries of this endpoint alone, so that no endpoint delays another (EVT-25). Code that queues a delivery
// wakes it.
import { DurableObject } from "cloudflare:workers";

export abstract class WebhookObject<E = unknown> extends DurableObject<E> {
  /** Returns at once. `afresh`: ends the object's rest, because the endpoint's owner changed or requested something. */
  abstract wake(webhookId: string, afresh?: boolean): void | Promise<void>;
}
