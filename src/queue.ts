// Queue message → work that goes on after an answer. Every message is safe to work twice; one that fails is tried again later.
import { buildDeps, type ChainMessage, type Deps, type Env, type JobMessage, type OutboxMessage } from "./context.ts";
import { JOBS, SUBSCRIBERS } from "./cron.ts";
import { followThreshold } from "./escrow/follow-threshold.ts";
import { runMessage } from "./jobs/run.ts";
import { handOnEvents } from "./journal/outbox.ts";
import { provisionMarkets } from "./markets/provision.ts";

export type Message = ChainMessage | OutboxMessage | JobMessage;
type Runner<K extends Message["kind"]> = (deps: Deps, message: Extract<Message, { kind: K }>) => Promise<unknown>;
type Runners = { readonly [K in Message["kind"]]: Runner<K> };

/** How long one message waits for the chain before it is put back. */
const WAIT_MS = 20_000;

const runJob = (deps: Deps, message: JobMessage): Promise<void> => runMessage(deps, JOBS, message);

const RUNNERS: Runners = {
  async provision_market(deps, job) {
    if (!(await provisionMarkets(deps, job, Date.now() + WAIT_MS))) throw new Error("the chain has not answered yet");
  },
  async follow_threshold(deps, job) {
    if (!(await followThreshold(deps, job, Date.now() + WAIT_MS))) throw new Error("the chain has not answered yet");
  },
  hand_on_events: (deps) => handOnEvents(deps, SUBSCRIBERS),
  record: runJob,
  find: runJob,
  run: runJob,
};

const RETRY_SECONDS = 5;

export async function runMessages(batch: MessageBatch<Message>, env: Env): Promise<void> {
  const deps = buildDeps(env, env.ISSUER);
  for (const message of batch.messages) {
    try {
      await (RUNNERS[message.body.kind] as Runner<Message["kind"]>)(deps, message.body as never);
      message.ack();
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : "unknown";
      console.error(
        JSON.stringify({ event: "message_failed", kind: message.body.kind, attempts: message.attempts, message: text }),
      );
      message.retry({ delaySeconds: RETRY_SECONDS * message.attempts });
    }
  }
}
