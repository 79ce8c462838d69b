// Runs queue messages. Every message is safe to run twice; a message that fails is retried later (JOB-8).
import {
  buildCheckedDeps,
  type ChainMessage,
  type Deps,
  type Env,
  type JobMessage,
  type OutboxMessage,
  type WebhookMessage,
} from "./context.ts";
import { SECOND_MS } from "./core/limits.ts";
import { memoizeBy, runConcurrently } from "./core/retry.ts";
import { isEnvironment } from "./core/vocabulary.ts";
import { JOBS, SUBSCRIBERS } from "./cron.ts";
import { commit } from "./db/batch.ts";
import { followDirectory } from "./directory/follow.ts";
import { payAward } from "./disputes/payout.ts";
import { setReserve } from "./disputes/reserve.ts";
import { followThreshold } from "./escrow/follow-threshold.ts";
import { followChain } from "./follower/job.ts";
import { runMessage } from "./jobs/run.ts";
import { listNewEvents } from "./jobs/tend.ts";
import { toActivityLog } from "./journal/activity-heads.ts";
import { raiseAlert } from "./journal/alerts.ts";
import { deliverNewEvents } from "./journal/events.ts";
import { hashLogOrYield } from "./journal/running-log.ts";
import { provisionMarkets } from "./markets/provision.ts";
import { driveVault } from "./vaults/exit.ts";
import { fanOutEvents, wakeEndpointOrThrow } from "./webhooks/fan-out.ts";

export type Message = ChainMessage | OutboxMessage | JobMessage | WebhookMessage;
type Queued = MessageBatch<Message>["messages"][number];
type Runner<K extends Message["kind"]> = (deps: Deps, message: Extract<Message, { kind: K }>) => Promise<unknown>;
type Runners<Kind extends Message["kind"]> = { readonly [K in Kind]: Runner<K> };

const RETRY_SECONDS = 5;

/** The suffix of dead-letter queues. A dead message loses nothing: the minute's jobs find the work that is left. */
const DEAD_SUFFIX = "-dead";

/** Runs messages about the chain concurrently, because they wait (JOB-13), and messages of jobs one after the other. */
export const runMessages = (batch: MessageBatch<Message>, env: Env): Promise<void> =>
  runMessagesWith(buildCheckedDeps(env), batch);

/** `deps` have the system's clock, except in tests. */
export async function runMessagesWith(deps: Deps, batch: MessageBatch<Message>): Promise<void> {
  if (batch.queue.endsWith(DEAD_SUFFIX)) return reportDead(deps, batch);
  const work = (message: Queued) => runOne(deps, message);
  await runConcurrently(batch.messages.filter(isAboutChain), work);
  await runConcurrently(batch.messages.filter(isAboutWebhook), work);
  const about = Map.groupBy(batch.messages, ({ body }) => body.kind === "hand_on_events");
  const outbox = about.get(true) ?? [];
  if (outbox.length > 0) await runOutboxMessages(deps, outbox);
  for (const message of about.get(false) ?? [])
    if (!isAboutChain(message) && !isAboutWebhook(message)) await work(message);
}

const isAboutWebhook = ({ body }: Queued): boolean => body.kind === "deliver";
const isAboutChain = ({ body }: Queued): boolean => body.kind in CHAIN_RUNNERS;

async function runOne(deps: Deps, message: Queued): Promise<void> {
  const { body } = message;
  try {
    await (RUNNERS[body.kind as keyof typeof RUNNERS] as Runner<Message["kind"]>)(deps, body);
    message.ack();
  } catch (thrown) {
    retryMessage(message, thrown);
  }
}

function retryMessage(message: Queued, thrown: unknown): void {
  const { body, attempts } = message;
  const text = thrown instanceof Error ? thrown.message : "unknown";
  console.error(JSON.stringify({ event: "message_failed", kind: body.kind, attempts, message: text }));
  message.retry({ delaySeconds: RETRY_SECONDS * attempts });
}

async function reportDead({ db }: Deps, batch: MessageBatch<Message>): Promise<void> {
  const [queue] = batch.queue.split(DEAD_SUFFIX);
  const message = "Messages failed their last attempt; the jobs do the remaining work.";
  for (const { body } of batch.messages) {
    console.error(JSON.stringify({ event: "dead_letter", queue: batch.queue, body }));
    await commit(db, [raiseAlert(db, { kind: "dead_letter", subject: `${queue} ${body.kind}`, message })]);
  }
}

/** How long one message waits for the chain. No caller waits for its result. */
const WAIT_MS = 5 * SECOND_MS;
/** How long a network rests after a message that waited in vain. */
const REST_MS = 15 * SECOND_MS;

const restingUntil = memoizeBy((_env: Env) => new Map<string, number>());

/**
 * `drive` returns false if the chain has not answered in time. The minute's job finds that work again, and the work of a resting network, so that a
 * stalled network does not keep the others waiting.
 */
async function driveChain(
  { env, clock }: Deps,
  network: string,
  drive: (until: number) => Promise<boolean>,
): Promise<void> {
  const resting = restingUntil(env);
  const begun = clock.now();
  if (begun < (resting.get(network) ?? 0)) return;
  const done = await drive(begun + WAIT_MS);
  const now = clock.now();
  if (!done && now >= begun + WAIT_MS / 2) resting.set(network, now + REST_MS);
}

const runJob = (deps: Deps, message: JobMessage): Promise<void> => runMessage(deps, JOBS, message);

const CHAIN_RUNNERS: Runners<ChainMessage["kind"]> = {
  provision_market: (deps, job) =>
    driveChain(deps, job.network, async (until) => (await provisionMarkets(deps, job, until)) !== null),
  follow_threshold: (deps, job) => driveChain(deps, job.network, (until) => followThreshold(deps, job, until)),
  release_escrow: (deps, job) => driveChain(deps, job.network, (until) => driveVault(deps, job, until)),
  set_reserve: (deps, job) => driveChain(deps, job.network, (until) => setReserve(deps, job, until)),
  pay_award: (deps, job) => driveChain(deps, job.network, (until) => payAward(deps, job, until)),
  follow_chain: (deps, { network }) => driveChain(deps, network, (until) => followChain(deps, network, until)),
};

/** Each message asks for everything new, so one delivery, and one hashing of each log, serve the whole batch. A failure stops nothing else. */
async function runOutboxMessages(deps: Deps, messages: readonly Queued[]): Promise<void> {
  const logsOf = ({ body }: Queued): readonly string[] => {
    const { activityOf = [], listedIn = [] } = body as OutboxMessage;
    return [...activityOf, ...listedIn];
  };
  const failed = new Map<string, unknown>();
  const work = [EVENTS, LISTING, FAN_OUT, ...new Set(messages.flatMap(logsOf))];
  await runConcurrently(work, async (one) => {
    try {
      if (one === EVENTS) await deliverNewEvents(deps, SUBSCRIBERS);
      else if (one === LISTING) await listNewEvents(deps);
      else if (one === FAN_OUT) await fanOutEvents(deps);
      else if (isEnvironment(one)) await followDirectory(deps, one);
      else await hashLogOrYield(deps, toActivityLog(deps, one));
    } catch (thrown) {
      failed.set(one, thrown);
    }
  });
  for (const message of messages) {
    const wanted = [EVENTS, LISTING, FAN_OUT, ...logsOf(message)].find((one) => failed.has(one));
    if (wanted === undefined) message.ack();
    else retryMessage(message, failed.get(wanted));
  }
}

const EVENTS = "events";
const LISTING = "the list of events";
const FAN_OUT = "webhooks";

const RUNNERS: Runners<Exclude<Message["kind"], OutboxMessage["kind"]>> = {
  ...CHAIN_RUNNERS,
  record: runJob,
  find: runJob,
  run: runJob,
  deliver: ({ env }, { webhookId }) => wakeEndpointOrThrow(env, webhookId),
};
