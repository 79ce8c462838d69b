// Reports of the agent that sells: pages of a long history, by every filter.
import type { Case } from "../case.ts";
import { agentPath, manage } from "../play.ts";

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

export const REPORTS: readonly Case[] = [
  {
    route: "GET /v1/agents/{did}/overview",
    status: 200,
    filling: true,
    ask: ({ stage, provider }) => manage(stage, "GET", `${agentPath(provider.did)}/overview`),
  },
  list("tasks"),
  ...FILTERS.map((filter) => list("tasks", filter)),
  list("transactions"),
  list("events"),
];
