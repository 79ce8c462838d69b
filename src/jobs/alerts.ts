// Alerts about jobs (JOB-9), and the job that mails alerts to the operator each minute (JOB-11).
import { MINUTE_MS } from "../core/limits.ts";
import { type Alert, findAlertMails, sendAlertMails } from "../journal/alerts.ts";
import type { BulkJob } from "./job.ts";

const LATE_MS = 10 * MINUTE_MS;

export const toJobFailedAlert = (job: string, message: string): Alert => ({
  kind: "job_failed",
  subject: job,
  message,
});

export function toJobLateAlert(job: string, oldestDueAt: number | null, now: number): Alert | null {
  if (oldestDueAt === null || now < oldestDueAt + LATE_MS) return null;
  const minutes = Math.floor((now - oldestDueAt) / MINUTE_MS);
  return {
    kind: "job_lag",
    subject: job,
    message: `The oldest row that the job found has been due for ${minutes} minutes.`,
  };
}

export const mailAlertsJob: BulkJob = {
  kind: "bulk",
  name: "mail_alerts",
  slices: 1,
  find: async (deps) => {
    const mails = await findAlertMails(deps);
    if (mails === null) return null;
    const run = async () => ({ done: await sendAlertMails(deps, mails), failed: [], next: null });
    return { oldestDueAt: mails.oldestDueAt, run };
  },
};
