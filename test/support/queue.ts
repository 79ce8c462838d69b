// Delivers the messages of a world's queues to the Worker's consumer when a test asks for it.
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { type Message, runMessages } from "../../src/queue.ts";
import type { World } from "./world.ts";

/** Passes a batch to the Worker's consumer. Returns the positions of the messages that it acknowledged, and of those that it retries. */
export async function deliver(
  world: World,
  queue: string,
  bodies: readonly unknown[],
): Promise<{ acknowledged: number[]; retried: number[] }> {
  const messages = bodies.map((body, at) => ({ id: String(at), timestamp: new Date(), attempts: 1, body }));
  const batch = createMessageBatch<Message>(queue, messages as never);
  await world.serve(() => runMessages(batch, { ...world.deps.env }));
  const { explicitAcks, retryMessages } = await getQueueResult(batch, createExecutionContext());
  return { acknowledged: explicitAcks.map(Number), retried: retryMessages.map(({ msgId }) => Number(msgId)) };
}

/** Delivers all messages that this world has sent, including those sent meanwhile. Throws if the consumer retries a message. */
export async function deliverAll(world: World): Promise<void> {
  for (;;) {
    const sent = world.sent.splice(0);
    if (sent.length === 0) return;
    for (const [queue, messages] of Map.groupBy(sent, (message) => message.queue)) {
      const { retried } = await deliver(
        world,
        queue,
        messages.map(({ body }) => body),
      );
      if (retried.length > 0)
        throw new Error(`${queue} wants ${JSON.stringify(messages[retried[0] ?? 0]?.body)} again`);
    }
  }
}
