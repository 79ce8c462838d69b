// Responses about agents and their credentials.
import * as z from "zod";
import { buildListSchema, jws } from "../http/response-parts.ts";
import { agentStatus, did, instant } from "../http/schemas.ts";
import { agentWarning } from "../identity/responses.ts";
import { agentFields, agentView } from "./schema.ts";

export const agentSummary = z.object(agentFields).register(z.globalRegistry, { id: "AgentSummary" });
export type AgentSummary = z.infer<typeof agentSummary>;
export const agentList = buildListSchema(agentSummary).register(z.globalRegistry, { id: "AgentList" });

/**
 * An agent that was reactivated, transferred or promoted, with its new certificate if it got one. `warnings` concern the principal that it has
 * now.
 */
export const movedAgentView = agentView
  .extend({ certificate: jws.optional(), warnings: z.array(agentWarning).optional() })
  .register(z.globalRegistry, { id: "MovedAgent" });
export type MovedAgentView = z.infer<typeof movedAgentView>;

export const credentialsView = z
  .object({
    did,
    status: agentStatus,
    private_key: z.string(),
    certificate: jws,
    certificate_expires_at: instant,
    key_id: z.string(),
    warning: z.string(),
    warnings: z.array(agentWarning),
  })
  .register(z.globalRegistry, { id: "AgentCredentials" });
export type CredentialsView = z.infer<typeof credentialsView>;

export const rotatedCredentialsView = credentialsView
  .extend({ previous_key_expires_at: instant })
  .register(z.globalRegistry, { id: "RotatedAgentCredentials" });
export type RotatedCredentialsView = z.infer<typeof rotatedCredentialsView>;
