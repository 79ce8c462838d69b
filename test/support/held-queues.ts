// The queues of a world: messages that are sent through their bindings are kept, and only tests deliver them.
import type { Env } from "../../src/context.ts";
import type { Message } from "../../src/queue.ts";

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

/** The bindings of `env`, which also add the messages that they send to `sent`. */
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
