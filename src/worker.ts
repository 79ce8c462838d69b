// The Worker's entry: fetch, queue, scheduled, and the Durable Objects.
import { createApp } from "./app.ts";
import type { Env } from "./context.ts";
import { runCron } from "./cron.ts";
import { type Message, runMessages } from "./queue.ts";

export { ChainSigner } from "./objects/chain-signer.ts";
export { AgentObject, IdempotencyObject } from "./objects/durable-objects.ts";
export { AttemptGuard, ReplayGuard } from "./objects/guards.ts";
export { SandboxRecorder } from "./sandbox/recorder.ts";
export { WebhookCourier } from "./webhooks/courier.ts";

const app = createApp();

export default {
  fetch: app.fetch,
  queue: runMessages,
  scheduled: runCron,
} satisfies ExportedHandler<Env, Message>;
