// Queue message → work that goes on after an answer. Every job is safe to run twice; one that fails is tried again later.
import { buildDeps, type Deps, type Env, type Job } from "./context.ts";
import { followThreshold } from "./flows/follow-threshold.ts";
import { provisionMarkets } from "./flows/provision-market.ts";

type Runner<K extends Job["kind"]> = (deps: Deps, job: Extract<Job, { kind: K }>) => Promise<unknown>;
type Runners = { readonly [K in Job["kind"]]: Runner<K> };

/** How long one job waits for the chain before it is put back. */
const WAIT_MS = 20_000;

const RUNNERS: Runners = {
  async provision_market(deps, job) {
    if (!(await provisionMarkets(deps, job, Date.now() + WAIT_MS))) throw new Error("the chain has not answered yet");
  },
  async follow_threshold(deps, job) {
    if (!(await followThreshold(deps, job, Date.now() + WAIT_MS))) throw new Error("the chain has not answered yet");
  },
};

const RETRY_SECONDS = 5;

export async function runJobs(batch: MessageBatch<Job>, env: Env): Promise<void> {
  const deps = buildDeps(env, env.ISSUER);
  for (const message of batch.messages) {
    try {
      await (RUNNERS[message.body.kind] as Runner<Job["kind"]>)(deps, message.body as never);
      message.ack();
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : "unknown";
      console.error(
        JSON.stringify({ event: "job_failed", kind: message.body.kind, attempts: message.attempts, message: text }),
      );
      message.retry({ delaySeconds: RETRY_SECONDS * message.attempts });
    }
  }
}
