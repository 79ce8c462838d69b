// Mails alerts to the operator, each minute (JOB-11).
import { findAlertMails, sendAlertMails } from "../journal/alert-mails.ts";
import type { BulkJob } from "./job.ts";

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
