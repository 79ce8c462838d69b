// The management operations of a platform: principals, agents and their markets.
import type { Case } from "../case.ts";
import {
  agent,
  agentBody,
  agentPath,
  draft,
  json,
  keyed,
  manage,
  marketBody,
  marketsPath,
  must,
  openProvider,
  type Play,
  principal,
  principalBody,
} from "../play.ts";
import type { Stage } from "../stage.ts";
import { hashLog } from "./activity.ts";

/** Pages that few rows match: they must not read the many rows that do not match. */
const FILTERS: readonly (readonly [path: string, filter: string])[] = [
  ["/v1/principals", "external_ref=crm-1"],
  ["/v1/principals", "status=SUSPENDED"],
  ["/v1/agents", "status=DRAFT"],
  ["/v1/agents", "status=SUSPENDED"],
  ["/v1/agents", "economic_role=CONSUMER"],
];

const ACTIVITY = "/v1/platform/activity?limit=20";

/** The principal of most agents, the key, and the act of its registration: each has a long history. */
const ACTIVITY_FILTERS: readonly (readonly [variant: string, filter: (play: Play) => string | Promise<string>])[] = [
  ["subject_id", ({ principalId }) => `subject_id=${principalId}`],
  ["subject_type and subject_id", ({ principalId }) => `subject_type=principal&subject_id=${principalId}`],
  ["actor", async ({ stage }) => `actor=${await prefixOf(stage)}`],
  ["action", () => "action=principal.registered"],
  ["environment", () => "environment=sandbox"],
];

async function prefixOf(stage: Stage): Promise<string> {
  const text = "select key_prefix from management_keys where platform_id = ? and environment = 'sandbox'";
  const [rows = []] = await stage.sql([{ sql: text, params: [stage.platform.platformId] }]);
  return String(rows[0]?.["key_prefix"]);
}

/** Transfers a provider, which both principals count. */
async function transfer({ stage, principalId, next }: Play) {
  const { did } = await agent(stage, stage.platform, "PROVIDER", principalId);
  const principal_id = await principal(stage, stage.platform, next());
  return manage(stage, "POST", `${agentPath(did)}/transfer`, { principal_id });
}

export const MANAGEMENT: readonly Case[] = [
  {
    route: "POST /v1/principals",
    status: 201,
    timed: "effect",
    ask: ({ stage, next }) => manage(stage, "POST", "/v1/principals", principalBody(next())),
  },
  {
    route: "POST /v1/principals",
    variant: "Idempotency-Key",
    status: 201,
    ask: (play) => keyed(play, manage(play.stage, "POST", "/v1/principals", principalBody(play.next()))),
  },
  {
    route: "GET /v1/principals",
    status: 200,
    timed: "read",
    ask: ({ stage }) => manage(stage, "GET", "/v1/principals?limit=20"),
  },
  {
    route: "GET /v1/principals/{principal_id}",
    status: 200,
    timed: "read",
    ask: ({ stage, principalId }) => manage(stage, "GET", `/v1/principals/${principalId}`),
  },
  {
    route: "POST /v1/agents",
    status: 201,
    timed: "effect",
    ask: ({ stage, principalId }) => manage(stage, "POST", "/v1/agents", agentBody("PROVIDER", principalId)),
  },
  {
    route: "POST /v1/agents",
    variant: "422",
    status: 422,
    timed: "read",
    ask: ({ stage }) => manage(stage, "POST", "/v1/agents", { economic_role: "PROVIDER" }),
  },
  {
    route: "GET /v1/agents",
    status: 200,
    timed: "read",
    ask: ({ stage }) => manage(stage, "GET", "/v1/agents?limit=20"),
  },
  {
    route: "GET /v1/agents/{did}",
    status: 200,
    timed: "read",
    ask: ({ stage, provider }) => manage(stage, "GET", agentPath(provider.did)),
  },
  {
    route: "POST /v1/agents/{did}/activate",
    status: 200,
    timed: "effect",
    ask: async (play) => {
      const did = await draft(play.stage, "PROVIDER", play.principalId);
      return keyed(play, manage(play.stage, "POST", `${agentPath(did)}/activate`));
    },
  },
  {
    route: "POST /v1/agents/{did}/certificate",
    status: 200,
    ask: ({ stage, idle }) => manage(stage, "POST", `${agentPath(idle.did)}/certificate`),
  },
  {
    route: "POST /v1/agents/{did}/rotate-key",
    status: 200,
    timed: "effect",
    // The second rotation of an agent, which ends the grace of the first.
    ask: async (play) => {
      const { did } = await agent(play.stage, play.stage.platform, "PROVIDER", play.principalId);
      const ask = manage(play.stage, "POST", `${agentPath(did)}/rotate-key`, { grace_hours: 1 });
      await must(play.stage, ask, 200);
      return keyed(play, ask);
    },
  },
  {
    route: "POST /v1/agents/{did}/transfer",
    status: 200,
    timed: "effect",
    ask: transfer,
  },
  {
    route: "POST /v1/agents/{did}/transfer",
    variant: "Idempotency-Key",
    status: 200,
    ask: async (play) => keyed(play, await transfer(play)),
  },
  {
    route: "POST /v1/agents/{did}/revoke",
    status: 200,
    ask: async ({ stage, principalId }) => {
      const { did } = await agent(stage, stage.platform, "PROVIDER", principalId);
      return manage(stage, "POST", `${agentPath(did)}/revoke`, { reason: "Withdrawn." });
    },
  },
  {
    route: "PATCH /v1/agents/{did}",
    status: 200,
    timed: "effect",
    ask: ({ stage, idle, next }) =>
      manage(stage, "PATCH", agentPath(idle.did), {
        profile: { description: `Does its work, ${next()} times.` },
        external_ref: `bench-${next()}`,
      }),
  },
  {
    route: "PATCH /v1/agents/{did}/scope",
    status: 200,
    timed: "effect",
    ask: ({ stage, provider, next }) =>
      manage(stage, "PATCH", `${agentPath(provider.did)}/scope`, { dispute_window_days: 1 + (next() % 300) }),
  },
  {
    route: "PATCH /v1/agents/{did}/status",
    status: 200,
    ask: async ({ stage, principalId }) => {
      const { did } = await agent(stage, stage.platform, "PROVIDER", principalId);
      return manage(stage, "PATCH", `${agentPath(did)}/status`, { status: "SUSPENDED" });
    },
  },
  {
    route: "PATCH /v1/agents/{did}/status",
    variant: "TERMINATED",
    status: 200,
    ask: async ({ stage, principalId }) => {
      const { did } = await agent(stage, stage.platform, "PROVIDER", principalId);
      return manage(stage, "PATCH", `${agentPath(did)}/status`, { status: "TERMINATED" });
    },
  },
  {
    route: "PATCH /v1/agents/{did}/status",
    variant: "its principal has stopped it",
    status: 200,
    ask: async ({ stage, next }) => {
      const principalId = await principal(stage, stage.platform, next());
      const { did } = await agent(stage, stage.platform, "PROVIDER", principalId);
      await must(stage, manage(stage, "POST", `/v1/principals/${principalId}/suspend`), 200);
      return manage(stage, "PATCH", `${agentPath(did)}/status`, { status: "SUSPENDED" });
    },
  },
  {
    route: "POST /v1/agents/{did}/scope/authorized_markets",
    status: 200,
    ask: async ({ stage, principalId, network }) => {
      const { did } = await agent(stage, stage.platform, "PROVIDER", principalId);
      return manage(stage, "POST", marketsPath(did), marketBody(network));
    },
  },
  {
    route: "POST /v1/agents/{did}/scope/authorized_markets",
    variant: "on a mainnet with a sandbox key",
    status: 200,
    ask: async ({ stage, principalId }) => {
      const mainnet = stage.networks.find(({ kind }) => kind === "mainnet");
      if (!mainnet) throw new Error("the bench has no mainnet");
      const { did } = await agent(stage, stage.platform, "PROVIDER", principalId);
      return manage(stage, "POST", marketsPath(did), marketBody(mainnet));
    },
  },
  {
    route: "DELETE /v1/agents/{did}/scope/authorized_markets/{market}",
    status: 204,
    ask: async ({ stage, principalId, network }) => {
      const { did } = await openProvider(stage, principalId);
      const market = `GLOBAL-${network.currency}?network=${network.network}`;
      return manage(stage, "DELETE", `${marketsPath(did)}/${market}`);
    },
  },
  {
    route: "GET /v1/agents/{did}/scope/authorized_markets",
    status: 200,
    ask: ({ stage, provider }) => manage(stage, "GET", marketsPath(provider.did)),
  },
  ...FILTERS.map(
    ([path, filter]): Case => ({
      route: `GET ${path}`,
      variant: filter,
      status: 200,
      filling: true,
      ask: ({ stage }) => manage(stage, "GET", `${path}?${filter}`),
    }),
  ),
  {
    route: "GET /v1/platform/activity",
    status: 200,
    timed: "read",
    filling: true,
    ask: ({ stage }) => manage(stage, "GET", ACTIVITY),
  },
  ...ACTIVITY_FILTERS.map(
    ([variant, filter]): Case => ({
      route: "GET /v1/platform/activity",
      variant,
      status: 200,
      filling: true,
      ask: async (play) => manage(play.stage, "GET", `${ACTIVITY}&${await filter(play)}`),
    }),
  ),
  {
    route: "GET /v1/platform/activity/heads",
    status: 200,
    filling: true,
    ask: ({ stage }) => manage(stage, "GET", "/v1/platform/activity/heads?limit=20"),
  },
  {
    route: "GET /v1/platform/activity/verify",
    status: 200,
    ask: async ({ stage }) => {
      await hashLog(stage);
      const { data } = json(await must(stage, manage(stage, "GET", ACTIVITY), 200)) as { data: { id: string }[] };
      return manage(stage, "GET", `/v1/platform/activity/verify?from=${data[1]?.id}`);
    },
  },
  { route: "GET /v1/platform", status: 200, timed: "read", ask: ({ stage }) => manage(stage, "GET", "/v1/platform") },
];
