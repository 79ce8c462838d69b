// The trigger of every minute, and the jobs that it starts (JOB-1).
import { buildDeps, type Env } from "./context.ts";
import { followThresholds } from "./escrow/follow-threshold.ts";
import { openStatusLists } from "./identity/open-status-list.ts";
import { handOnJob } from "./jobs/hand-on-events.ts";
import type { Job } from "./jobs/job.ts";
import { mailAlertsJob } from "./jobs/mail-alerts.ts";
import { pruneIdempotencyOutcomes } from "./jobs/prune-outcomes.ts";
import { startJobs } from "./jobs/run.ts";
import type { Subscriber } from "./journal/outbox.ts";
import { resumeProvisioning } from "./markets/provision.ts";
import { tendSigners } from "./markets/tend-signers.ts";
import { watchRegistrations } from "./markets/watch.ts";
import { abandonIntents } from "./payments/abandon.ts";
import { rateAbandonedIntents } from "./payments/rate-abandoned.ts";
import { finishCascades } from "./standing/cascades.ts";
import { endAttestations } from "./standing/expire.ts";
import { autoConfirmTasks } from "./tasks/auto-confirm.ts";

/** The receivers of events. */
export const SUBSCRIBERS: readonly Subscriber[] = [];

export const JOBS: readonly Job[] = [
  handOnJob(SUBSCRIBERS),
  pruneIdempotencyOutcomes,
  endAttestations,
  finishCascades,
  openStatusLists,
  autoConfirmTasks,
  abandonIntents,
  rateAbandonedIntents,
  followThresholds,
  resumeProvisioning,
  watchRegistrations,
  tendSigners,
  mailAlertsJob,
];

const SCHEDULE: Readonly<Record<string, readonly Job[]>> = { "* * * * *": JOBS };

export const runCron = (controller: ScheduledController, env: Env): Promise<void> =>
  startJobs(buildDeps(env, env.ISSUER), SCHEDULE[controller.cron] ?? []);
