// Routes of the activity log (EVT-13 to EVT-15).
import { type CsvColumn, csvAnswer, prefersCsv } from "../http/csv.ts";
import { route } from "../http/route.ts";
import { getHeads } from "./activity-heads.ts";
import { exportActivity, getActivity } from "./activity-read.ts";
import {
  type ActivityEntry,
  activityList,
  activityQuery,
  activityVerification,
  headList,
  headQuery,
  verifyQuery,
} from "./activity-schema.ts";
import { verifyActivity } from "./activity-verify.ts";

const COLUMNS: readonly CsvColumn<ActivityEntry>[] = [
  ["id", ({ id }) => id],
  ["seq", ({ seq }) => seq],
  ["occurred_at", ({ occurred_at }) => occurred_at],
  ["environment", ({ environment }) => environment],
  ["action", ({ action }) => action],
  ["actor_type", ({ actor }) => actor.type],
  ["actor", ({ actor }) => actor.id],
  ["subject_type", ({ subject }) => subject.type],
  ["subject_id", ({ subject }) => subject.id],
  ["changes", ({ changes }) => (changes === undefined ? null : JSON.stringify(changes))],
];

export const activityRoutes = [
  route({
    method: "get",
    path: "/v1/platform/activity",
    operationId: "listActivity",
    tag: "Platform",
    summary: "Read the activity log",
    description:
      "One log for both environments, newest first by `seq`, readable with either key. `subject_id`, `action` and `actor` are indexed; " +
      "the other filters are compared within at most 1,000 entries of that range a page: where few of them fit, a page may hold fewer " +
      "entries than `limit`, or none, and still have more. `Accept: text/csv` streams all entries of at most 31 days, by default the last " +
      "ones; it takes no cursor, and `limit` does not count.",
    surfaces: ["management"],
    query: activityQuery,
    status: 200,
    response: {
      schema: activityList,
      description: "A page of entries.",
      types: ["application/json", "text/csv"],
    },
    errors: [],
    headers: ["accept"],
    handle: async (call, { query, headers }) =>
      prefersCsv(headers["accept"])
        ? csvAnswer("activity", COLUMNS, await exportActivity(call, query))
        : getActivity(call, query),
  }),
  route({
    method: "get",
    path: "/v1/platform/activity/heads",
    operationId: "listActivityHeads",
    tag: "Platform",
    summary: "List the signed heads of the activity log",
    description:
      "Newest first. A head is signed once a day when entries were added. Whoever keeps one can show that nothing up to its entry was " +
      "changed since, because every hash covers all entries before it.",
    surfaces: ["management"],
    query: headQuery,
    status: 200,
    response: { schema: headList, description: "A page of heads." },
    errors: [],
    handle: (call, { query }) => getHeads(call, query),
  }),
  route({
    method: "get",
    path: "/v1/platform/activity/verify",
    operationId: "verifyActivity",
    tag: "Platform",
    summary: "Verify the activity log",
    description:
      "Recomputes the running hash from `from` to `to`, both included, and compares it with the stored hashes and the signed heads. One " +
      "call verifies at most 1,000 entries; while `has_more` is true, ask again with `from` = `last_id`.",
    surfaces: ["management"],
    query: verifyQuery,
    status: 200,
    response: { schema: activityVerification, description: "Whether the entries are as they were written." },
    errors: [],
    handle: (call, { query }) => verifyActivity(call, query),
  }),
];
