// Reports of the agent that sells and of its account: pages of a long history, by every filter.
import type { Case } from "../case.ts";
import { agentPath, manage, type Play } from "../play.ts";
import type { Ask } from "../wire.ts";

const FILTERS: readonly string[] = [
  "status=open",
  "status=confirmed",
  "status=auto_confirmed",
  "status=disputed",
  "outcome=confirmed",
  "outcome=partial",
  "since=2026-01-01T00:00:00Z",
];

const list = (name: string, filter?: string): Case => ({
  route: `GET /v1/agents/{did}/${name}`,
  ...(filter !== undefined && { variant: filter }),
  status: 200,
  filling: true,
  ask: ({ stage, provider }) =>
    manage(stage, "GET", `${agentPath(provider.did)}/${name}?limit=20${filter === undefined ? "" : `&${filter}`}`),
});

/** Across the account; `did` is the agent that sells. */
const across =
  (name: string) =>
  (filter: string): Case => ({
    route: `GET /v1/${name}`,
    ...(filter !== "" && { variant: filter }),
    status: 200,
    filling: true,
    ask: ({ stage, provider }) =>
      manage(stage, "GET", `/v1/${name}?limit=20&${filter === "did" ? `did=${provider.did}` : filter}`),
  });

const askOverview = ({ stage, provider }: Play): Ask => manage(stage, "GET", `${agentPath(provider.did)}/overview`);

/** Each intent that waits for its payment or for what was paid, and each task whose window runs, is counted by its row. */
async function countOpen({ stage, provider: { did } }: Play): Promise<number> {
  const intents = `select count(*) from payment_intents where provider_did = ? and status in ('OPEN', 'PAID') and spent_at is null`;
  const tasks = "select count(*) from tasks where provider_did = ? and answer is null and confirm_by > ?";
  const text = `select (${intents}) + (${tasks}) as open`;
  const [rows = []] = await stage.sql([{ sql: text, params: [did, did, Date.now()] }]);
  return Number(rows[0]?.["open"]);
}

export const REPORTS: readonly Case[] = [
  {
    route: "GET /v1/agents/{did}/overview",
    status: 200,
    filling: true,
    moreRows: countOpen,
    ask: askOverview,
  },
  {
    route: "GET /v1/agents/{did}/escrow",
    status: 200,
    filling: true,
    ask: ({ stage, provider }) => manage(stage, "GET", `${agentPath(provider.did)}/escrow`),
  },
  list("tasks"),
  ...FILTERS.map((filter) => list("tasks", filter)),
  list("transactions"),
  list("events"),
  ...["", "role=provider", "role=consumer", "did", "since=2026-01-01T00:00:00Z"].map(across("transactions")),
  ...["", "role=provider", "role=consumer", "did", "since=2026-01-01T00:00:00Z", "status=open"].map(across("tasks")),
];
