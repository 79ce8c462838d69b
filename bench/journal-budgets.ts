// The budgets of reading the journal: the activity log, events, and the usage of an account.
import { type Budget, KIB, read } from "./budget.ts";

export const JOURNAL_BUDGETS: Readonly<Record<string, Budget>> = {
  // The key and its platform 2, the key again for its platform 1, and one entry more than the page has.
  "GET /v1/platform/activity": read(25, 16 * KIB),
  "GET /v1/platform/activity (subject_id)": read(25, 16 * KIB),
  "GET /v1/platform/activity (subject_type and subject_id)": read(25, 16 * KIB),
  "GET /v1/platform/activity (actor)": read(25, 16 * KIB),
  "GET /v1/platform/activity (action)": read(25, 16 * KIB),
  // A filter beyond the ranges: the page's rows are counted again, and three times in all if they do not fill it.
  "GET /v1/platform/activity (environment)": read(65, 16 * KIB),
  "GET /v1/platform/activity/heads": read(25, 32 * KIB),
  "GET /v1/platform/activity/verify": read(15, KIB, { trips: 3 }),
  // Each event of a page costs its term and itself. Unlisted events are read too; a run of the cases leaves a few of them.
  "GET /v1/events": read(50, 64 * KIB),
  "GET /v1/events (type)": read(70, 64 * KIB),
  "GET /v1/events (subject)": read(50, 64 * KIB),
  "GET /v1/events (since)": read(60, 64 * KIB),
  "GET /v1/events/{event_id}": read(10, 8 * KIB),
  // The account, its day, the last entry of its log, and its endpoints, at most twenty in each environment.
  "GET /v1/operator/platforms/{platform_id}/usage": read(48, KIB),
};
