// The account's profile: read by a session, changed, and restated in the documents of the tenant principal's agents.
import type { Json } from "../../scripts/client.ts";
import { sha256Hex } from "../../src/core/encoding.ts";
import type { Case } from "../case.ts";
import { agent, manage, type Play } from "../play.ts";
import type { Platform, Stage } from "../stage.ts";
import type { Ask } from "../wire.ts";

const HOUR_MS = 3_600_000;

/** A call of a person, by a session of its own. */
export async function asPerson(
  { sql }: Pick<Stage, "sql">,
  { platformId }: Pick<Platform, "platformId">,
  method: string,
  path: string,
  body?: Json,
): Promise<Ask> {
  const token = `ses_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;
  const now = Date.now();
  const text = "insert into sessions (token_hash, platform_id, created_at, used_at, expires_at) values (?, ?, ?, ?, ?)";
  const params = [await sha256Hex(token), platformId, now, now, now + HOUR_MS];
  await sql([{ sql: text, params }]);
  return { method, path, headers: { Authorization: `Bearer ${token}` }, ...(body && { body: JSON.stringify(body) }) };
}

export async function tenantOf({ platform, sql }: Stage): Promise<string> {
  const text = "select tenant_principal_id as id from platforms where platform_id = ?";
  const [rows = []] = await sql([{ sql: text, params: [platform.platformId] }]);
  return String(rows[0]?.["id"]);
}

/** Agents of the tenant principal; those of earlier cases go to another principal. */
async function withAgents(play: Play, count: number): Promise<void> {
  const { stage, principalId } = play;
  const tenant = await tenantOf(stage);
  await stage.sql([
    { sql: "update agents set principal_id = ? where principal_id = ?", params: [principalId, tenant] },
  ]);
  for (let n = 0; n < count; n++) await agent(stage, stage.platform, "CONSUMER", tenant);
}

const rename = ({ stage, next }: Play): Ask =>
  manage(stage, "PATCH", "/v1/platform", { legal_name: `Bench Platform ${next()}` });

const renaming = (count: number) => async (play: Play) => {
  await withAgents(play, count);
  return rename(play);
};

/** The state that a crash behind the batch of a change leaves, with one agent. */
export async function leaveRestatement(play: Play): Promise<void> {
  const { stage } = play;
  await withAgents(play, 1);
  const tenant = await tenantOf(stage);
  await stage.sql([
    { sql: "update principals set legal_name = ? where principal_id = ?", params: [`Left ${play.next()}`, tenant] },
    {
      sql: "insert into restatements (principal_id, started_at, after_at, after_did) values (?, ?, 0, '')",
      params: [tenant, Date.now()],
    },
  ]);
}

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
  { route: "PATCH /v1/platform", variant: "the name", status: 200, ask: renaming(0) },
  { route: "PATCH /v1/platform", variant: "the name, with ten agents", status: 200, ask: renaming(10) },
];
