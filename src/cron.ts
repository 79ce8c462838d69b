// The triggers of every minute and every hour, and the jobs that they start (JOB-1).
import { announceJob } from "./accounts/announcements.ts";
import { eraseClosedAccounts } from "./accounts/erase.ts";
import { mailNotices } from "./accounts/mail-notices.ts";
import { notifyExpiring } from "./accounts/notify-expiring.ts";
import { pruneCredentials } from "./accounts/prune-credentials.ts";
import { removeUnverified } from "./accounts/remove-unverified.ts";
import { sweepDocuments } from "./accounts/sweep-documents.ts";
import { resealTotpSecrets } from "./accounts/totp.ts";
import { publishRatings } from "./agents/publish-ratings.ts";
import { finishCascades } from "./cascades/cascades.ts";
import { endAttestations } from "./cascades/expire.ts";
import { finishRestatements } from "./cascades/restate-agents.ts";
import { buildCheckedDeps, type Env } from "./context.ts";
import { signDirectoryHeads } from "./directory/heads.ts";
import { indexDirectory, pruneDirectory } from "./directory/tend.ts";
import { endDisputeDays } from "./disputes/deadlines.ts";
import { payAwards } from "./disputes/payout.ts";
import { keepReserves } from "./disputes/reserve.ts";
import { followThresholds } from "./escrow/follow-threshold.ts";
import { followChains } from "./follower/job.ts";
import { failUnpaidRefunds } from "./follower/refunds.ts";
import { noteAuthorityKeys } from "./identity/note-authority-keys.ts";
import { openStatusLists } from "./identity/open-status-list.ts";
import { handOnJob } from "./jobs/hand-on-events.ts";
import type { Job } from "./jobs/job.ts";
import { mailAlertsJob } from "./jobs/mail-alerts.ts";
import { pruneIdempotencyOutcomes } from "./jobs/prune-outcomes.ts";
import { signActivityHeads } from "./jobs/sign-activity-heads.ts";
import { beginLook, listJobNames, recordTrigger, startJobs } from "./jobs/start.ts";
import { listEventsJob, pruneEventsJob } from "./jobs/tend-events.ts";
import type { Subscriber } from "./journal/outbox.ts";
import { moveEditions } from "./markets/move-editions.ts";
import { applyWalletChanges, resumeProvisioning } from "./markets/provision.ts";
import { tendArbiters, tendSigners } from "./markets/tend-signers.ts";
import { watchRegistrations } from "./markets/watch.ts";
import { abandonIntents, spendPaidIntents } from "./payments/abandon.ts";
import { rateAbandonedIntents } from "./payments/rate-abandoned.ts";
import { leaveSandbox } from "./promotion/leave-sandbox.ts";
import { sweepSandboxes } from "./sandbox/sweep.ts";
import { autoConfirmTasks } from "./tasks/auto-confirm.ts";
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
