// The triggers of every minute and every hour, and the jobs that they start (JOB-1).
import { announceJob } from "./accounts/announcements.ts";
import { sweepDocuments } from "./accounts/documents.ts";
import { eraseClosedAccounts, pruneCredentials } from "./accounts/erase.ts";
import { mailNotices, notifyExpiring } from "./accounts/notices.ts";
import { removeUnverified } from "./accounts/sign-up.ts";
import { resealTotpSecrets } from "./accounts/totp.ts";
import { publishRatings } from "./agents/ratings.ts";
import { finishCascades } from "./cascades/cascades.ts";
import { endAttestations } from "./cascades/expire.ts";
import { finishRestatements } from "./cascades/restate-agents.ts";
import { buildCheckedDeps, type Env } from "./context.ts";
import { indexDirectory, pruneDirectory } from "./directory/changes.ts";
import { signDirectoryHeads } from "./directory/heads.ts";
import { endDisputeDays } from "./disputes/deadlines.ts";
import { payAwards } from "./disputes/payout.ts";
import { keepReserves } from "./disputes/reserve.ts";
import { followThresholds } from "./escrow/follow-threshold.ts";
import { followChains } from "./follower/job.ts";
import { failUnpaidRefunds } from "./follower/refunds.ts";
import { noteAuthorityKeys } from "./identity/authority.ts";
import { openStatusLists } from "./identity/open-status-list.ts";
import { mailAlertsJob } from "./jobs/alerts.ts";
import type { Job } from "./jobs/job.ts";
import { beginLook, listJobNames, recordTrigger, startJobs } from "./jobs/start.ts";
import { handOnJob, listEventsJob, pruneEventsJob, pruneIdempotencyOutcomes, signActivityHeads } from "./jobs/tend.ts";
import type { Subscriber } from "./journal/events.ts";
import { moveEditions } from "./markets/move-editions.ts";
import { applyWalletChanges, resumeProvisioning } from "./markets/provision.ts";
import { tendArbiters, tendSigners } from "./markets/trials.ts";
import { watchRegistrations } from "./markets/watch.ts";
import { abandonIntents, spendPaidIntents } from "./payments/abandon.ts";
import { rateAbandonedIntents } from "./payments/rate.ts";
import { leaveSandbox } from "./promotion/leave-sandbox.ts";
import { sweepSandboxes } from "./sandbox/due.ts";
import { autoConfirmTasks } from "./tasks/confirm.ts";
import { findLeaving, releaseEscrows } from "./vaults/exit.ts";
import { replayJob } from "./webhooks/replay.ts";
import { fanOutJob, pruneDeliveries, resealSecrets, sweepWebhooks, wakeEndpoints } from "./webhooks/sweep.ts";

export const SUBSCRIBERS: readonly Subscriber[] = [leaveSandbox];

const MINUTE_JOBS: readonly Job[] = [
  handOnJob(SUBSCRIBERS),
  listEventsJob,
  fanOutJob,
  wakeEndpoints,
  replayJob,
  pruneIdempotencyOutcomes,
  endAttestations,
  notifyExpiring,
  finishCascades,
  finishRestatements,
  openStatusLists,
  noteAuthorityKeys,
  autoConfirmTasks,
  abandonIntents,
  rateAbandonedIntents,
  publishRatings,
  spendPaidIntents,
  endDisputeDays,
  sweepSandboxes,
  failUnpaidRefunds,
  followThresholds,
  resumeProvisioning,
  applyWalletChanges,
  moveEditions,
  watchRegistrations,
  findLeaving,
  releaseEscrows,
  keepReserves,
  payAwards,
  signActivityHeads,
  signDirectoryHeads,
  indexDirectory,
  pruneDirectory,
  removeUnverified,
  pruneCredentials,
  announceJob,
  mailNotices,
  mailAlertsJob,
  eraseClosedAccounts,
];
/** These jobs wait for nodes, so the other jobs do not wait for them. */
const NETWORK_JOBS: readonly Job[] = [followChains, tendSigners, tendArbiters];
const HOUR_JOBS: readonly Job[] = [sweepDocuments, pruneEventsJob, pruneDeliveries, resealSecrets, resealTotpSecrets];

export const JOBS: readonly Job[] = [...MINUTE_JOBS, ...NETWORK_JOBS, ...HOUR_JOBS];

/** The triggers of wrangler.toml, each with the name of its row (JOB-15). */
const TRIGGERS: Readonly<Record<string, { readonly name: string; readonly jobs: readonly Job[] }>> = {
  "* * * * *": { name: "every_minute", jobs: MINUTE_JOBS },
  "0 * * * *": { name: "every_hour", jobs: HOUR_JOBS },
};

/** If none of these jobs has found anything, the sweep of webhooks would find nothing either. */
const WEBHOOK_JOBS: readonly Job[] = [listEventsJob, fanOutJob, replayJob, wakeEndpoints];

export async function runCron({ cron }: ScheduledController, env: Env): Promise<void> {
  const trigger = TRIGGERS[cron];
  if (!trigger) return;
  const { name, jobs } = trigger;
  const deps = buildCheckedDeps(env);
  const look = beginLook(deps, [name, ...listJobNames(JOBS)]);
  const started = await startJobs(deps, jobs, look);
  await recordTrigger(deps, name, [started], look);
  if (jobs !== MINUTE_JOBS) return;
  const sweep = WEBHOOK_JOBS.every((job) => started.idle.has(job.name)) ? null : sweepWebhooks(deps);
  const [ofNetworks] = await Promise.all([startJobs(deps, NETWORK_JOBS, look), sweep]);
  if (ofNetworks.failures.length > 0) await recordTrigger(deps, name, [started, ofNetworks], look);
}
