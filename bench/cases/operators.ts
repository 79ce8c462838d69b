// The operators' operations.
import type { Case } from "../case.ts";
import { operate, type Play } from "../play.ts";

/** Stores an alert that was raised at an instant, is not acknowledged and was not mailed; returns its id. */
export async function raise({ stage, next }: Play, raisedAt: number): Promise<string> {
  const n = next();
  const row = [`alr_B${String(n).padStart(25, "0")}`, "job_failed", `job ${n}`, "It failed.", raisedAt, raisedAt];
  const sql =
    "insert into alerts (alert_id, kind, subject, message, raised_at, last_seen_at) values (?, ?, ?, ?, ?, ?)";
  await stage.sql([{ sql, params: row }]);
  return `${row[0]}`;
}

export const OPERATORS: readonly Case[] = [
  {
    route: "GET /v1/operator/platforms",
    status: 200,
    ask: ({ stage }) => operate(stage, "GET", "/v1/operator/platforms?limit=20"),
  },
  {
    route: "GET /v1/operator/platforms",
    variant: "status=SUSPENDED",
    status: 200,
    filling: true,
    ask: ({ stage }) => operate(stage, "GET", "/v1/operator/platforms?limit=20&status=SUSPENDED"),
  },
  { route: "GET /v1/operator/ca", status: 200, ask: ({ stage }) => operate(stage, "GET", "/v1/operator/ca") },
  { route: "GET /v1/operator/jobs", status: 200, ask: ({ stage }) => operate(stage, "GET", "/v1/operator/jobs") },
  {
    route: "GET /v1/operator/alerts",
    status: 200,
    filling: true,
    ask: ({ stage }) => operate(stage, "GET", "/v1/operator/alerts?limit=20"),
  },
  ...["", "actor", "action"].map(
    (filter): Case => ({
      route: "GET /v1/operator/activity",
      ...(filter !== "" && { variant: filter }),
      status: 200,
      filling: true,
      ask: async ({ stage }) => {
        const [rows = []] = await stage.sql([
          { sql: "select operator_id as actor, action from operator_entries limit 1" },
        ]);
        const query = filter === "" ? "" : `&${filter}=${rows[0]?.[filter] ?? "alert.acknowledged"}`;
        return operate(stage, "GET", `/v1/operator/activity?limit=20${query}`);
      },
    }),
  ),
  {
    route: "POST /v1/operator/alerts/{alert_id}/acknowledge",
    status: 200,
    ask: async (play) =>
      operate(play.stage, "POST", `/v1/operator/alerts/${await raise(play, Date.now())}/acknowledge`),
  },
];
