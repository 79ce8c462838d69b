// The OpenAPI 3.1 document: the published form of everything that the routers define.
import { type OpenAPIHono, type RouteConfig, z } from "@hono/zod-openapi";
import type { AppEnv } from "./app-env.ts";

const header = (name: string, description: string) => ({
  type: "apiKey" as const,
  in: "header" as const,
  name,
  description,
});

const SECURITY_SCHEMES = {
  ManagementKey: header("Service-Api-Key", "Platform to service. Its prefix names its environment."),
  AgentCertificate: header("AEAP-Certificate", "The agent's certificate, an ES256 JWT."),
  AgentProof: header(
    "AEAP-Proof",
    "Base64 of an ECDSA P-256/SHA-256 signature by the certificate's key, good once, over " +
      "`aeap-req:v1|timestamp|agent_did|METHOD|path|digest`. The digest is hex SHA-256: for GET of the decoded query pairs " +
      "`key=value`, sorted by key and joined with `&`; otherwise of the raw body. " +
      "POST /v1/facilitate also takes the consumer's `timestamp|consumer_did|provider_did`.",
  ),
  AgentTimestamp: header(
    "AEAP-Timestamp",
    "Epoch seconds or ISO 8601 with a zone, within 30 seconds of the service's clock; the text that was signed.",
  ),
  OperatorKey: { type: "http" as const, scheme: "bearer", description: "The people who run the service." },
  OperatorAccess: header("Cf-Access-Jwt-Assertion", "The same people, by Cloudflare Access, which sets it."),
};

const HEALTH: RouteConfig = {
  method: "get",
  path: "/healthz",
  operationId: "getHealth",
  tags: ["Service"],
  summary: "Whether the Worker answers",
  description: "Asks nothing else: no database, no chain.",
  responses: {
    200: {
      description: "It does.",
      content: { "application/json": { schema: z.object({ status: z.literal("ok") }).openapi("Health") } },
    },
  },
};

export function describeService(app: OpenAPIHono<AppEnv>, serverUrl: string): unknown {
  for (const [name, scheme] of Object.entries(SECURITY_SCHEMES))
    app.openAPIRegistry.registerComponent("securitySchemes", name, scheme);
  app.openAPIRegistry.registerPath(HEALTH);
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Agent Accountability Management Service",
      version: "1.0.0",
      description:
        "Identity, certificates, on-chain settlement, escrow and ratings for software agents that trade with each other. " +
        "Every error has the same flat envelope; branch on `code`.",
      license: { name: "Apache-2.0" },
    },
    servers: [{ url: serverUrl }],
  });
}
