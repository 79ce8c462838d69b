// Operators are told of alerts by mail, at most once an hour for each kind.
import { mailAlerts } from "../journal/alert-mails.ts";
import type { BulkJob } from "./job.ts";

export const mailAlertsJob: BulkJob = {
  kind: "bulk",
  name: "mail_alerts",
  run: async (deps) => ({ done: await mailAlerts(deps), more: false }),
};
