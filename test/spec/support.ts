import { agentBody, type Json, type Reply, type World } from "../support/world.ts";

export type Role = "CONSUMER" | "PROVIDER";

export const registerAgent = (world: World, principalId: string, role: Role, overrides: Json = {}): Promise<Reply> =>
  world.call("POST", "/v1/agents", { body: { ...agentBody(role), principal_id: principalId, ...overrides } });

export const scope = (role: Role, overrides: Json): Json => ({
  scope: { ...(agentBody(role)["scope"] as Json), ...overrides },
});

export const fieldCodes = (reply: Reply): Json =>
  Object.fromEntries(reply.body.field_errors.map((fault: Json) => [fault.field, fault.code]));

export const patchAgent = (world: World, did: string, part: "scope" | "status", body: Json): Promise<Reply> =>
  world.call("PATCH", `/v1/agents/${did}/${part}`, { body });
