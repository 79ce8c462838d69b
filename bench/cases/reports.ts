// Reports of the selling agent and of its account: pages of a long history, by every filter.
import type { Case } from "../case.ts";
import { agentPath, manage, type Play } from "../play.ts";
import { type Ask, send } from "../wire.ts";

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

/** Lists across the account; `did` is the selling agent. */
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

/** Lists the events that the cases before have left, because the service lists them right after their commits. */
const listAll = ({ stage }: Play) =>
  send(stage.origin, { method: "POST", path: "/__bench/job?name=list_events&done=0" });

/** Reads a report of the selling agent that includes events. */
const withEvents = async (play: Play, path: string): Promise<Ask> => {
  await listAll(play);
  return manage(play.stage, "GET", `${agentPath(play.provider.did)}/${path}`);
};

/** An open count reads one row for each intent that waits for its payment or was paid, and for each task whose window runs. */
async function countOpen({ stage, provider: { did } }: Play): Promise<number> {
  const intents = `select count(*) from payment_intents where provider_did = ? and status in ('OPEN', 'PAID') and spent_at is null`;
  const tasks = "select count(*) from tasks where provider_did = ? and answer is null and confirm_by > ?";
  const text = `select (${intents}) + (${tasks}) as open`;
  const [rows = []] = await stage.sql([{ sql: text, params: [did, did, Date.now()] }]);
  return Number(rows[0]?.["open"]);
}

async function oldestEvent({ stage }: Play): Promise<string> {
  const text = "select id from events where platform_id = ? and environment = 'sandbox' order by seq limit 1";
  const [rows = []] = await stage.sql([{ sql: text, params: [stage.platform.platformId] }]);
  return String(rows[0]?.["id"]);
}

const events = (filter: string): Case => ({
  route: "GET /v1/events",
  ...(filter !== "" && { variant: filter.split("=")[0] ?? filter }),
  status: 200,
  filling: true,
  ask: async (play) => {
    const values = { subject: `subject=${play.provider.did}`, since: `since=${await oldestEvent(play)}` };
    await listAll(play);
    return manage(play.stage, "GET", `/v1/events?limit=20&${values[filter as keyof typeof values] ?? filter}`);
  },
});

export const REPORTS: readonly Case[] = [
  {
    route: "GET /v1/agents/{did}/overview",
    status: 200,
    filling: true,
    moreRows: countOpen,
    ask: (play) => withEvents(play, "overview"),
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
  { ...list("events"), ask: (play) => withEvents(play, "events?limit=20") },
  ...["", "type=agent.status_changed", "subject", "since"].map(events),
  {
    route: "GET /v1/events/{event_id}",
    status: 200,
    filling: true,
    ask: async (play) => manage(play.stage, "GET", `/v1/events/${await oldestEvent(play)}`),
  },
  ...["", "role=provider", "role=consumer", "did", "since=2026-01-01T00:00:00Z"].map(across("transactions")),
  ...["", "role=provider", "role=consumer", "did", "since=2026-01-01T00:00:00Z", "status=open"].map(across("tasks")),
];
