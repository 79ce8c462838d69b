// The operators' operations.
import type { Case } from "../case.ts";
import { operate, type Play } from "../play.ts";

/** Stores an alert that was raised at an instant, and was neither acknowledged nor mailed; returns its id. */
export async function raise({ stage, next }: Play, raisedAt: number): Promise<string> {
  const n = next();
  const row = [`alr_B${String(n).padStart(25, "0")}`, "job_failed", `job ${n}`, "It failed.", raisedAt, raisedAt];
  const sql =
    "insert into alerts (alert_id, kind, subject, message, raised_at, last_seen_at) values (?, ?, ?, ?, ?, ?)";
  await stage.sql([{ sql, params: row }]);
  return `${row[0]}`;
}

/** Stores more than a page of differences for one provider; returns its DID. */
async function differ({ stage, network, next }: Play): Promise<string> {
  const did = `did:aeap:differs-${next()}`;
  const sql =
    "insert into ledger_differences (network, did, contract, held, expected, block_number, found_at) values (?, ?, ?, ?, ?, ?, ?)";
  const rowOf = (n: number) => [
    network.network,
    did,
    network.settlement_contract.toLowerCase(),
    n,
    n + 1,
    n,
    Date.now(),
  ];
  await stage.sql(Array.from({ length: 25 }, (_, n) => ({ sql, params: rowOf(n) })));
  return did;
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
    route: "GET /v1/operator/networks",
    status: 200,
    ask: ({ stage }) => operate(stage, "GET", "/v1/operator/networks"),
  },
  {
    route: "GET /v1/operator/alerts",
    status: 200,
    filling: true,
    ask: ({ stage }) => operate(stage, "GET", "/v1/operator/alerts?limit=20"),
  },
  ...["", "did", "network"].map(
    (filter): Case => ({
      route: "GET /v1/operator/reconciliation",
      ...(filter !== "" && { variant: filter }),
      status: 200,
      ask: async (play) => {
        const differences = await differ(play);
        const value = { did: differences, network: play.network.network }[filter];
        const query = value === undefined ? "" : `&${filter}=${value}`;
        return operate(play.stage, "GET", `/v1/operator/reconciliation?limit=20${query}`);
      },
    }),
  ),
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
