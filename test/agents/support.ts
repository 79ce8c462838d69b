// Agents in every status, registrations of every kind, and their stored rows.
import { agentBody, env, expectStatus, type Json, type Reply, type World } from "../support/world.ts";

export const STATES = ["DRAFT", "ACTIVE", "SUSPENDED", "REVOKED", "TERMINATED", "FUNDING"] as const;

/** An agent in the status; a status to which no route leads is written to its row. */
export async function agentIn(world: World, state: (typeof STATES)[number], role: Role = "CONSUMER"): Promise<string> {
  if (state === "DRAFT") return (await world.draft(role)).did;
  const { did } = await world.agent(role);
  await env.DB.prepare("update agents set status = ? where did = ?").bind(state, did).run();
  return did;
}

export const readAgent = async (world: World, did: string): Promise<Json> =>
  expectStatus(await world.call("GET", `/v1/agents/${did}`), 200);

export const rowsOf = async (table: string, column: string, did: string): Promise<Json[]> =>
  (await env.DB.prepare(`select * from ${table} where ${column} = ?`).bind(did).all<Json>()).results;

export type Role = "CONSUMER" | "PROVIDER";
export type Body = Record<string, unknown>;

export function registrationOf(
  principalId: string,
  role: Role,
  { scope = {}, profile = {}, ...overrides }: { scope?: Body; profile?: Body } & Body = {},
): Body {
  const valid = agentBody(role) as { scope: Body; profile: Body };
  return {
    ...valid,
    principal_id: principalId,
    ...overrides,
    scope: { ...valid.scope, ...scope },
    profile: { ...valid.profile, ...profile },
  };
}

export const registerAgent = (of: World, body: Body, key = of.key): Promise<Reply> =>
  of.call("POST", "/v1/agents", { body, key });

type Fault = { field: string; code: string };
export const faultsOf = (reply: Reply) =>
  reply.body.field_errors?.map(({ field, code }: Fault) => [field, code]).sort();
