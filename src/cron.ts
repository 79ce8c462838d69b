// Cron expression → jobs. Each job is a sweep over an indexed due column, in slices, and may run late or twice.
import { buildDeps, type Deps, type Env } from "./context.ts";
import { commit } from "./db/batch.ts";
import { pruneOutcomes } from "./db/outcomes.ts";
import { recordEndedAttestations } from "./flows/end-attestations.ts";
import { followThresholds } from "./flows/follow-threshold.ts";
import { resumeProvisioning } from "./flows/provision-market.ts";
import { rateAbandonedIntents } from "./flows/rate-abandoned.ts";
import { autoConfirmTasks } from "./flows/settle-task.ts";
import { abandonIntents } from "./payments/service.ts";

export type Sweep = (deps: Deps) => Promise<unknown>;

const SLICE = 500;
/** Each brings two events: D1 takes 1,000 statements an invocation. */
const INTENT_SLICE = 200;
/** Each is two trips of its own, some thirty statements together. */
const TASK_SLICE = 20;

/** Each is a batch of its own: D1 allows a thousand queries an invocation. */
const RATED_SLICE = 20;
const PRINCIPAL_SLICE = 20;

export const EVERY_MINUTE: readonly { readonly name: string; readonly sweep: Sweep }[] = [
  {
    name: "prune_idempotency_outcomes",
    sweep: (deps) => commit(deps.db, [pruneOutcomes(deps.db, deps.clock.now(), SLICE)]),
  },
  { name: "end_attestations", sweep: (deps) => recordEndedAttestations(deps, PRINCIPAL_SLICE) },
  { name: "auto_confirm_tasks", sweep: (deps) => autoConfirmTasks(deps, TASK_SLICE) },
  { name: "rate_abandoned_intents", sweep: (deps) => rateAbandonedIntents(deps, RATED_SLICE) },
  { name: "abandon_intents", sweep: (deps) => abandonIntents(deps, INTENT_SLICE) },
  { name: "follow_thresholds", sweep: (deps) => followThresholds(deps, SLICE) },
  { name: "resume_market_provisioning", sweep: (deps) => resumeProvisioning(deps, SLICE) },
];

const JOBS: Readonly<Record<string, typeof EVERY_MINUTE>> = { "* * * * *": EVERY_MINUTE };

export async function runCron(controller: ScheduledController, env: Env): Promise<void> {
  await runSweeps(buildDeps(env, env.ISSUER), JOBS[controller.cron] ?? []);
}

/** One sweep that fails does not stop the others; the next minute tries again. */
export async function runSweeps(deps: Deps, sweeps: typeof EVERY_MINUTE): Promise<void> {
  for (const { name, sweep } of sweeps) {
    try {
      await sweep(deps);
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : "unknown";
      console.error(JSON.stringify({ event: "sweep_failed", sweep: name, message }));
    }
  }
}
