// The Worker's entry: fetch, queue, scheduled, and the Durable Objects.
import { createApp } from "./app.ts";
import type { Env } from "./context.ts";
import { runCron } from "./cron.ts";
import { type Message, runMessages } from "./queue.ts";

export { AgentObject } from "./objects/agent-object.ts";
export { AttemptGuard } from "./objects/attempt-guard.ts";
export { ChainSigner } from "./objects/chain-signer.ts";
export { IdempotencyObject } from "./objects/idempotency-object.ts";
export { ReplayGuard } from "./objects/replay-guard.ts";
export { SandboxRecorder } from "./sandbox/recorder.ts";
export { WebhookCourier } from "./webhooks/courier.ts";

const app = createApp();

export default {
  fetch: app.fetch,
  queue: runMessages,
  scheduled: runCron,
} satisfies ExportedHandler<Env, Message>;
