// Mails alerts to the operator, each minute (JOB-11).
import { mailAlerts } from "../journal/alert-mails.ts";
import type { BulkJob } from "./job.ts";

export const mailAlertsJob: BulkJob = {
  kind: "bulk",
  name: "mail_alerts",
  run: async (deps) => ({ done: await mailAlerts(deps), more: false }),
};
