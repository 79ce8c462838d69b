// Passes a queue's batch to the Worker's consumer.
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { type Message, runMessages } from "../../src/queue.ts";
import { env, type World } from "./world.ts";

/** The positions of the acknowledged messages, and of those that are tried again. */
export async function deliver(
  world: World,
  queue: string,
  bodies: readonly unknown[],
): Promise<{ acknowledged: number[]; retried: number[] }> {
  const messages = bodies.map((body, at) => ({ id: String(at), timestamp: new Date(), attempts: 1, body }));
  const batch = createMessageBatch<Message>(queue, messages as never);
  await world.serve(() => runMessages(batch, { ...env, DB: world.meter.d1 }));
  const { explicitAcks, retryMessages } = await getQueueResult(batch, createExecutionContext());
  return { acknowledged: explicitAcks.map(Number), retried: retryMessages.map(({ msgId }) => Number(msgId)) };
}
