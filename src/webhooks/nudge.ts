// Tells the queue which endpoints have due deliveries. If a message is lost, the minute's job finds them.
import type { Env } from "../context.ts";

const MESSAGES = 100;

export async function notifyDue(
  { WEBHOOK_QUEUE }: Pick<Env, "WEBHOOK_QUEUE">,
  webhookIds: readonly string[],
): Promise<void> {
  const messages = [...new Set(webhookIds)].map((webhookId) => ({ body: { kind: "deliver", webhookId } as const }));
  try {
    for (let at = 0; at < messages.length; at += MESSAGES)
      await WEBHOOK_QUEUE.sendBatch(messages.slice(at, at + MESSAGES));
  } catch {
    // The queue is down. The minute's job wakes the endpoints.
  }
}

type Objects = Pick<Env, "WEBHOOKS">;

/** Wakes the object of an endpoint, which works in the background. */
export async function wakeEndpointOrThrow({ WEBHOOKS }: Objects, webhookId: string, afresh = false): Promise<void> {
  await WEBHOOKS.get(WEBHOOKS.idFromName(webhookId)).wake(webhookId, afresh);
}

/** If the object cannot be reached, the minute's job wakes it. */
export async function wakeEndpoint(objects: Objects, webhookId: string, afresh = false): Promise<void> {
  try {
    await wakeEndpointOrThrow(objects, webhookId, afresh);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "unknown";
    console.error(JSON.stringify({ event: "webhook_not_woken", webhook: webhookId, message }));
  }
}
