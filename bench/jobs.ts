// Runs jobs and triggers inside the bench's Worker, with the messages that they send to their queues.
import { buildDeps, type ChainMessage, type Env, type JobMessage } from "../src/context.ts";
import { JOBS, runCron } from "../src/cron.ts";
import { followChain } from "../src/follower/job.ts";
import type { Job } from "../src/jobs/job.ts";
import { runMessage } from "../src/jobs/run.ts";
import { startJobs } from "../src/jobs/start.ts";

export type Handed = { readonly jobs: JobMessage[]; readonly chains: ChainMessage[] };
export const newHanded = (): Handed => ({ jobs: [], chains: [] });

/** The bindings with queues that keep their messages instead of delivering them. */
export const withCollectingQueues = (env: Env, { jobs, chains }: Handed): Env => ({
  ...env,
  JOB_QUEUE: keepMessages(env.JOB_QUEUE, jobs),
  CHAIN_QUEUE: keepMessages(env.CHAIN_QUEUE, chains),
});

const keepMessages = <T>(queue: Queue<T>, kept: T[]): Queue<T> =>
  new Proxy(queue, {
    get: (target, method) => {
      if (method === "send") return async (message: T) => void kept.push(message);
      if (method !== "sendBatch") return Reflect.get(target, method) as unknown;
      return async (messages: Iterable<MessageSendRequest<T>>) => {
        for (const { body } of messages) kept.push(body);
      };
    },
  });

/** Runs a job in one request as the cron starts it and the queue continues it: messages to its queue are processed at once. */
export async function runJob(env: Env, job: Job): Promise<void> {
  const jobs: JobMessage[] = [];
  const deps = buildDeps({ ...env, JOB_QUEUE: keepMessages(env.JOB_QUEUE, jobs) }, env.ISSUER);
  await startJobs(deps, [job]);
  for (let message = jobs.shift(); message; message = jobs.shift()) await runMessage(deps, JOBS, message);
}

const FOLLOWING_MS = 20_000;

/** Runs a trigger, then the messages that it sent to the jobs, and then those that it sent to the followers. */
export async function runTrigger(env: Env, cron: string, { jobs, chains }: Handed): Promise<void> {
  await runCron({ cron } as ScheduledController, env);
  const deps = buildDeps(env, env.ISSUER);
  for (let message = jobs.shift(); message; message = jobs.shift()) await runMessage(deps, JOBS, message);
  for (let message = chains.shift(); message; message = chains.shift()) {
    if (message.kind === "follow_chain") await followChain(deps, message.network, Date.now() + FOLLOWING_MS);
  }
}
