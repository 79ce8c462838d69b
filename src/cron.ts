// Cron expression → jobs. Each job is a sweep over an indexed due column, in slices, and may run late or twice.
import { buildDeps, type Deps, type Env } from "./context.ts";
import { MINUTE_MS } from "./core/limits.ts";
import { commit } from "./db/batch.ts";
import { pruneOutcomes } from "./db/outcomes.ts";
import { recordEndedAttestations } from "./flows/end-attestations.ts";
import { followThresholds } from "./flows/follow-threshold.ts";
import { resumeProvisioning } from "./flows/provision-market.ts";
import { rateAbandonedIntents } from "./flows/rate-abandoned.ts";
import { autoConfirmTasks } from "./flows/settle-task.ts";
import { abandonIntents } from "./payments/service.ts";

export type Sweep = (deps: Deps) => Promise<unknown>;

// All of one minute share D1's thousand statements an invocation: these slices of the costly sweeps stay below it together.
const SLICE = 500;
/** Each brings two events. */
const INTENT_SLICE = 100;
/** Each is two trips of its own, some thirty statements together. */
const TASK_SLICE = 12;
/** Each is a batch of its own of some twenty. */
const RATED_SLICE = 8;
/** Each is a batch of its own, of fifteen and of one for some hundred agents. */
const PRINCIPAL_SLICE = 8;

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
  const sweeps = JOBS[controller.cron] ?? [];
  await runSweeps(buildDeps(env, env.ISSUER), startingAt(sweeps, Math.floor(controller.scheduledTime / MINUTE_MS)));
}

/** Every minute another one is first: where the statements of an invocation run out, no sweep is always the one without. */
const startingAt = <T>(sweeps: readonly T[], minute: number): readonly T[] => {
  const first = minute % Math.max(1, sweeps.length);
  return [...sweeps.slice(first), ...sweeps.slice(0, first)];
};

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
