// Alerts about jobs (JOB-9).
import { MINUTE_MS } from "../core/limits.ts";
import type { Alert } from "../journal/alerts.ts";

/** A row that has been due for this long should have been recorded. */
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
