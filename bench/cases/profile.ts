import type { Case } from "../case.ts";
import { asPerson, openAccount } from "../persons.ts";
import { agent, manage, must, operate, type Play } from "../play.ts";
import type { Stage } from "../stage.ts";
import type { Ask } from "../wire.ts";

export async function tenantOf({ platform, sql }: Stage): Promise<string> {
  const text = "select tenant_principal_id as id from platforms where platform_id = ?";
  const [rows = []] = await sql([{ sql: text, params: [platform.platformId] }]);
  return String(rows[0]?.["id"]);
}

/** Gives the tenant principal its agents; those of earlier cases go to another principal. */
async function withAgents(play: Play, count: number): Promise<void> {
  const { stage, principalId } = play;
  const tenant = await tenantOf(stage);
  await stage.sql([
    { sql: "update agents set principal_id = ? where principal_id = ?", params: [principalId, tenant] },
  ]);
  for (let n = 0; n < count; n++) await agent(stage, stage.platform, "CONSUMER", tenant);
}

const proposeName = ({ stage, next }: Play): Promise<Ask> =>
  asPerson(stage, stage.platform, "PATCH", "/v1/platform", { legal_name: `Bench Platform ${next()}` });

/** Approves another name, which the agents' documents repeat. */
const approveName = (count: number) => async (play: Play) => {
  const { stage } = play;
  await withAgents(play, count);
  await must(stage, proposeName(play), 200);
  const path = `/v1/operator/platforms/${stage.platform.platformId}/decision`;
  return operate(stage, "POST", path, { subject: "profile", decision: "approve" });
};

/** Leaves the state of a crash right after the batch of a change, with one agent. */
export async function leaveRestatement(play: Play): Promise<void> {
  const { stage } = play;
  await withAgents(play, 1);
  const tenant = await tenantOf(stage);
  await stage.sql([
    { sql: "update principals set legal_name = ? where principal_id = ?", params: [`Left ${play.next()}`, tenant] },
    {
      sql: "insert into walks (kind, subject, started_at, after_at, after_id) values ('restatement', ?, ?, 0, '')",
      params: [tenant, Date.now()],
    },
  ]);
}

const DECISION = "POST /v1/operator/platforms/{platform_id}/decision";

export const PROFILE: readonly Case[] = [
  {
    route: "GET /v1/platform",
    variant: "session",
    status: 200,
    ask: ({ stage }) => asPerson(stage, stage.platform, "GET", "/v1/platform"),
  },
  {
    route: "PATCH /v1/platform",
    status: 200,
    timed: "effect",
    ask: ({ stage, next }) => manage(stage, "PATCH", "/v1/platform", { trading_name: `Bench ${next()}` }),
  },
  {
    route: "PATCH /v1/platform",
    variant: "a proposal",
    status: 200,
    ask: async (play) => {
      await withAgents(play, 0);
      return proposeName(play);
    },
  },
  {
    route: "PATCH /v1/platform",
    variant: "a contact",
    status: 200,
    ask: async (play) => {
      const body = { admin_contact_email: `contact-${play.next()}@bench.example` };
      return asPerson(play.stage, await openAccount(play), "PATCH", "/v1/platform", body);
    },
  },
  { route: DECISION, variant: "a name", status: 200, ask: approveName(0) },
  { route: DECISION, variant: "a name, with ten agents", status: 200, ask: approveName(10) },
];
