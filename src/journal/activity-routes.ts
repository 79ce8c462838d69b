// Routes of the activity log (EVT-13 to EVT-15).
import { answerCsv, type CsvColumn, prefersCsv } from "../http/csv.ts";
import { defineRoute } from "../http/route.ts";
import { getHeads } from "./activity-heads.ts";
import { exportActivity, getActivity } from "./activity-read.ts";
import { activityHeadQuery, activityQuery, verifyQuery } from "./activity-schema.ts";
import { verifyActivity } from "./activity-verify.ts";
import type { ActivityEntry } from "./responses.ts";

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
  defineRoute({
    method: "get",
    path: "/v1/platform/activity",
    operationId: "listActivity",
    surfaces: ["management"],
    query: activityQuery,
    status: 200,
    errors: [],
    headers: ["accept"],
    handle: async (call, { query, headers }) =>
      prefersCsv(headers["accept"])
        ? answerCsv("activity", COLUMNS, await exportActivity(call, query))
        : getActivity(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/activity/heads",
    operationId: "listActivityHeads",
    surfaces: ["management"],
    query: activityHeadQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getHeads(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/activity/verify",
    operationId: "verifyActivity",
    surfaces: ["management"],
    query: verifyQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => verifyActivity(call, query),
  }),
];
