// The parts of the OpenAPI document that no route declares: the service, its credentials, tags, shared headers and answers.
import * as z from "zod";
import { detailSchema, fieldErrorSchema } from "../../src/http/response-parts.ts";
import { defineRoute } from "../../src/http/route.ts";

export const INFO = {
  title: "Agent Accountability Management Service",
  version: "1.0.0",
  summary: "Accountability for software agents.",
  description:
    "Identity, certificates, on-chain settlement, escrow and ratings for software agents that trade with each other. " +
    "Every error has the same flat envelope; branch on `code`. Certificates and tokens are shortened in the examples. " +
    "The operator reports incidents on the `status_page` of `/.well-known/aeap`.",
  contact: { name: "The operator of this service" },
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

export const TAGS = [
  { name: "Platform", description: "The platform's own account." },
  { name: "Principals", description: "The legal persons who answer for agents, and their attestations." },
  { name: "Customers", description: "The platform's own clients, which group principals." },
  { name: "Agents", description: "A platform's management of its agents." },
  { name: "Identity", description: "Public information about agents." },
  {
    name: "Verification",
    description: "Challenges, checks of certificates, proofs and documents, and the published keys.",
  },
  { name: "Markets", description: "The markets in which payments settle." },
  { name: "Ratings", description: "The method by which ratings are computed." },
  { name: "Events", description: "Events about the platform's resources, in the order of the changes." },
  {
    name: "Webhooks",
    description: "Endpoints that receive events, their deliveries, and replays.",
  },
  { name: "Directory", description: "All certified agents of an environment, and their changes." },
  { name: "Payments", description: "Payment intents, opened by agents." },
  {
    name: "Facilitation",
    description: "The verification of an on-chain payment, which makes it a settled transaction.",
  },
  { name: "Tasks", description: "The delivery that a payment is for, and its confirmation." },
  {
    name: "Disputes",
    description: "Disputes of purchases that went wrong, until they are decided and paid.",
  },
  { name: "Operator", description: "The calls of the people who run the service." },
  { name: "Service", description: "The health of the service." },
] as const;

const header = (name: string, description: string) => ({ type: "apiKey", in: "header", name, description });

export const SECURITY_SCHEMES = {
  ManagementKey: header("Service-Api-Key", "A platform's management key. Its prefix names its environment."),
  Session: {
    type: "http",
    scheme: "bearer",
    description:
      "The `session_token` of a person, from POST /v1/platform/sessions. `Service-Environment` names the environment.",
  },
  SessionCookie: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-session",
    description:
      "The session's token as a cookie, for browsers; in a call that changes something it counts only with the service's own `Origin`.",
  },
  AgentCertificate: header("AEAP-Certificate", "The agent's certificate, an ES256 JWT."),
  AgentProof: header(
    "AEAP-Proof",
    "Base64 of an ECDSA P-256/SHA-256 signature by the certificate's key, valid once, over " +
      "`aeap-req:v1|timestamp|agent_did|METHOD|path|digest`. The digest is hex SHA-256: for GET and HEAD of the decoded query pairs " +
      "`key=value`, sorted by key and joined with `&`; otherwise of the raw body. " +
      "POST /v1/facilitate also takes the consumer's `timestamp|consumer_did|provider_did`.",
  ),
  AgentTimestamp: header(
    "AEAP-Timestamp",
    "Epoch seconds or ISO 8601 with a zone, within 30 seconds of the service's clock; exactly the text that was signed.",
  ),
  VerifierCredential: {
    type: "http",
    scheme: "bearer",
    description:
      "A compact JWS by a Verifier's registered key, ES256 or EdDSA, valid once: `typ` `aeap-revocation+jwt`, `iss` the Verifier, `sub` the " +
      "attestation, `aud` the issuer of this service, `jti`, `iat` and `exp` at most five minutes apart.",
  },
  OperatorKey: { type: "http", scheme: "bearer", description: "An operator's key." },
  OperatorAccess: header("Cf-Access-Jwt-Assertion", "A token of Cloudflare Access, which sets the header."),
};

const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example });

const ETAG = 'W/"79d64af3cc0e41b217b21c78b0018f98"';

export const HEADERS = {
  "Request-Id": text("The id of this call in the service's log.", "req_01JD3S2Q4N7W8X9Y0Z1A2B3C4D"),
  RateLimit: text(
    "The rest of the quota (`r`), and the number of seconds for which it applies (`t`).",
    '"credential";r=1199;t=42',
  ),
  "RateLimit-Policy": text("The quota (`q`) and its window in seconds (`w`).", '"credential";q=1200;w=60'),
  "Service-Clock": text(
    "The present time in a sandbox whose clock was moved; no other answer has this header.",
    "2026-11-24T09:30:00.000Z",
  ),
  "Idempotent-Replayed": text("`true` if the answer repeats the original one.", "true"),
  ETag: text("The version of the answer's content; send it in `If-None-Match`.", ETAG),
  Deprecation: text(
    "The instant since which the operation is deprecated, in epoch seconds; refusals have it too.",
    "@1793491200",
  ),
  Sunset: text("When the operation ends; refusals have it too.", "Sat, 01 May 2027 00:00:00 GMT"),
  Link: text(
    'The next page, under the same filters, if there is one; for a deprecated operation also the page about its replacement (`rel="deprecation"`).',
    '<https://issuer.example/v1/agents?limit=20&cursor=WyIxMnUiLDE3MzIxXQ>; rel="next"',
  ),
  "WWW-Authenticate": text("The authentication that this call needs.", 'Service-Api-Key realm="platforms"'),
  "Retry-After": text("The number of seconds to wait, with jitter; present if a retry helps.", "1"),
};

export const PARAMETERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "Makes a retry safe: within 24 hours the same key and body get the same answer. 1 to 255 printable ASCII characters, bare or in double quotes; " +
      "a UUID is recommended.",
    // No example: a second call with the example's key would be a replay, or be refused because its body differs.
    schema: { type: "string", pattern: '^("[ -~]{1,255}"|[ !#-~][ -~]{0,254})$' },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "The `ETag` of an earlier answer; the answer is 304 if it would be the same.",
    schema: { type: "string" },
    example: ETAG,
  },
} as const;

const sent = (name: string, description: string, example: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" },
  example,
});
const SIGNATURE = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=";

/** The headers of a delivery, each under the service's name and under that of Standard Webhooks. */
export const WEBHOOK_PARAMETERS = Object.fromEntries(
  [
    [
      "Id",
      "Service-Event-Id",
      "webhook-id",
      "The event's id, which is the same at every attempt.",
      "evt_01JD3S2Q4N7W8X9Y0Z1A2B3C4D",
    ],
    [
      "Timestamp",
      "Service-Timestamp",
      "webhook-timestamp",
      "When the attempt was sent, in epoch seconds.",
      "1795685400",
    ],
    [
      "Signature",
      "Service-Signature",
      "webhook-signature",
      "`v1,` and base64 of HMAC-SHA-256 over `id.timestamp.body` by the endpoint's secret; during a rotation two signatures, separated by a space.",
      SIGNATURE,
    ],
  ].flatMap(([key, own = "", standard = "", description = "", example = ""]) => [
    [`Service${key}`, sent(own, description, example)],
    [`Webhook${key}`, sent(standard, `Equal to \`${own}\`, under its name in Standard Webhooks.`, example)],
  ]),
);

export const RESPONSE_NAMES: Readonly<Record<string, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  409: "Conflict",
  410: "Gone",
  413: "ContentTooLarge",
  422: "UnprocessableContent",
  429: "TooManyRequests",
  500: "InternalServerError",
  503: "ServiceUnavailable",
};

/** The RFC 9457 form of a refusal, with the same content as the envelope (HTTP-15). */
export const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    instance: z.string(),
    code: z.string(),
    request_id: z.string(),
    field_errors: z.array(fieldErrorSchema).optional(),
    details: detailSchema.optional(),
    reason: z.string().optional(),
  })
  .register(z.globalRegistry, { id: "Problem" });

/** Served by src/http/openapi.ts, outside the routes. */
export const health = defineRoute({
  method: "get",
  path: "/healthz",
  anyQuery: true,
  operationId: "getHealth",
  surfaces: ["public"],
  status: 200,
  errors: [],
  handle: async () => ({ status: "ok" }),
});
