// The queues of a world: what is sent through their bindings is kept, and delivered to the Worker's consumer when a test says so.
import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import type { Env } from "../../src/context.ts";
import { type Message, runMessages } from "../../src/queue.ts";
import type { World } from "./world.ts";

const QUEUES = {
  CHAIN_QUEUE: "agent-accountability-chain",
  JOB_QUEUE: "agent-accountability-jobs",
  OUTBOX_QUEUE: "agent-accountability-outbox",
  WEBHOOK_QUEUE: "agent-accountability-webhooks",
} as const;
type QueueBinding = keyof typeof QUEUES;
const BINDINGS = Object.keys(QUEUES) as QueueBinding[];

/** A message as its queue takes it, and the name of the queue. */
export type Sent = { readonly queue: string; readonly body: Message };

/** The bindings of `env`, which also add what they send to `sent`. */
export function watchQueues(env: Env, sent: Sent[]): Pick<Env, QueueBinding> {
  const watched = BINDINGS.map((name) => [name, watchQueue(env[name] as Queue, QUEUES[name], sent)]);
  return Object.fromEntries(watched) as Pick<Env, QueueBinding>;
}

function watchQueue(queue: Queue, name: string, sent: Sent[]): Pick<Queue, "send" | "sendBatch"> {
  return {
    send: async (body, options) => {
      const response = await queue.send(body, options);
      sent.push({ queue: name, body: body as Message });
      return response;
    },
    sendBatch: async (messages, options) => {
      const bodies = [...messages];
      const response = await queue.sendBatch(bodies, options);
      sent.push(...bodies.map(({ body }) => ({ queue: name, body: body as Message })));
      return response;
    },
  };
}

/** Passes a batch to the Worker's consumer. The positions of the acknowledged messages, and of those that are tried again. */
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

/** Delivers all that this world has sent, and all that is sent meanwhile. Throws when the consumer wants a message again. */
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
