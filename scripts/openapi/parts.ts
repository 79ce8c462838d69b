// The parts of the OpenAPI document beside its routes: the service, its credentials, tags, shared headers and answers.
import * as z from "zod";
import { detailSchema, fieldErrorSchema } from "../../src/http/response-parts.ts";
import { route } from "../../src/http/route.ts";

export const INFO = {
  title: "Agent Accountability Management Service",
  version: "1.0.0",
  summary: "Who answers for a software agent.",
  description:
    "Identity, certificates, on-chain settlement, escrow and ratings for software agents that trade with each other. " +
    "Every error has the same flat envelope; branch on `code`. Certificates and tokens are shortened in the examples. " +
    "The operator tells of incidents at the `status_page` of `/.well-known/aeap`.",
  contact: { name: "The operator of this service" },
  license: { name: "Apache-2.0", identifier: "Apache-2.0" },
};

export const TAGS = [
  { name: "Platform", description: "The platform's own account." },
  { name: "Principals", description: "The legal persons behind agents, and their attestations." },
  { name: "Customers", description: "The platform's own clients, which group principals." },
  { name: "Agents", description: "What a platform does with its agents." },
  { name: "Identity", description: "What anybody may read about an agent." },
  {
    name: "Verification",
    description: "Challenges, checks of certificates, proofs and documents, and the published keys.",
  },
  { name: "Markets", description: "Where payments settle." },
  { name: "Ratings", description: "How ratings are computed." },
  { name: "Events", description: "What has happened to the platform's resources, in the order of the changes." },
  {
    name: "Webhooks",
    description: "Endpoints that get events, what was delivered to them, and what is delivered once more.",
  },
  { name: "Directory", description: "All certified agents of an environment, and what changes among them." },
  { name: "Payments", description: "Payment intents, opened by agents." },
  { name: "Facilitation", description: "From a payment on-chain to a settled transaction." },
  { name: "Tasks", description: "The delivery that a payment is for, and its confirmation." },
  {
    name: "Disputes",
    description: "What a consumer does about a purchase that went wrong, until it is decided and paid.",
  },
  { name: "Operator", description: "The people who run the service." },
  { name: "Service", description: "Whether the service answers." },
] as const;

const header = (name: string, description: string) => ({ type: "apiKey", in: "header", name, description });

export const SECURITY_SCHEMES = {
  ManagementKey: header("Service-Api-Key", "Platform to service. Its prefix names its environment."),
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
    description: "The same token, for browsers; for a change it counts only with the service's own `Origin`.",
  },
  AgentCertificate: header("AEAP-Certificate", "The agent's certificate, an ES256 JWT."),
  AgentProof: header(
    "AEAP-Proof",
    "Base64 of an ECDSA P-256/SHA-256 signature by the certificate's key, good once, over " +
      "`aeap-req:v1|timestamp|agent_did|METHOD|path|digest`. The digest is hex SHA-256: for GET and HEAD of the decoded query pairs " +
      "`key=value`, sorted by key and joined with `&`; otherwise of the raw body. " +
      "POST /v1/facilitate also takes the consumer's `timestamp|consumer_did|provider_did`.",
  ),
  AgentTimestamp: header(
    "AEAP-Timestamp",
    "Epoch seconds or ISO 8601 with a zone, within 30 seconds of the service's clock; the text that was signed.",
  ),
  VerifierCredential: {
    type: "http",
    scheme: "bearer",
    description:
      "A compact JWS by a Verifier's registered key, ES256 or EdDSA, good once: `typ` `aeap-revocation+jwt`, `iss` the Verifier, `sub` the " +
      "attestation, `aud` the issuer of this service, `jti`, `iat` and `exp` at most five minutes apart.",
  },
  OperatorKey: { type: "http", scheme: "bearer", description: "An operator's key." },
  OperatorAccess: header("Cf-Access-Jwt-Assertion", "A token of Cloudflare Access, which sets it."),
};

const text = (description: string, example: string) => ({ description, schema: { type: "string" }, example });

const ETAG = 'W/"79d64af3cc0e41b217b21c78b0018f98"';

export const HEADERS = {
  "Request-Id": text("Names this call in the service's log.", "req_01JD3S2Q4N7W8X9Y0Z1A2B3C4D"),
  RateLimit: text("What is left of the quota (`r`), and for how many seconds (`t`).", '"credential";r=1199;t=42'),
  "RateLimit-Policy": text("The quota (`q`) and its window in seconds (`w`).", '"credential";q=1200;w=60'),
  "Service-Clock": text(
    "What the time is in a sandbox whose clock was moved; no other answer has it.",
    "2026-11-24T09:30:00.000Z",
  ),
  "Idempotent-Replayed": text("`true` when the answer is the original one.", "true"),
  ETag: text("Names what the answer says; send it in `If-None-Match`.", ETAG),
  Deprecation: text("Since when the operation is deprecated, in epoch seconds; refusals say it too.", "@1793491200"),
  Sunset: text("When the operation ends; refusals say it too.", "Sat, 01 May 2027 00:00:00 GMT"),
  Link: text(
    'The next page, under the same filters, where there is one; of a deprecated operation also what to use instead (`rel="deprecation"`).',
    '<https://issuer.example/v1/agents?limit=20&cursor=WyIxMnUiLDE3MzIxXQ>; rel="next"',
  ),
  "WWW-Authenticate": text("How this call is authenticated.", 'Service-Api-Key realm="platforms"'),
  "Retry-After": text("How many seconds to wait, with jitter; where trying again helps.", "1"),
};

export const PARAMETERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "Makes a retry safe: within 24 hours the same key and body are answered the same. 1 to 255 printable ASCII characters, bare or in double quotes; " +
      "a UUID is advised.",
    // No example: a second call under it would be a replay, or refused for another body.
    schema: { type: "string", pattern: '^("[ -~]{1,255}"|[ !#-~][ -~]{0,254})$' },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    required: false,
    description: "The `ETag` of an earlier answer; 304 where the answer would be the same.",
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

/** What a delivery carries: each header by the service's name and by that of Standard Webhooks. */
export const WEBHOOK_PARAMETERS = Object.fromEntries(
  [
    [
      "Id",
      "Service-Event-Id",
      "webhook-id",
      "The event's id, the same at every attempt.",
      "evt_01JD3S2Q4N7W8X9Y0Z1A2B3C4D",
    ],
    ["Timestamp", "Service-Timestamp", "webhook-timestamp", "When it was sent, in epoch seconds.", "1795685400"],
    [
      "Signature",
      "Service-Signature",
      "webhook-signature",
      "`v1,` and base64 of HMAC-SHA-256 over `id.timestamp.body` by the endpoint's secret; two, separated by a space, during a rotation.",
      SIGNATURE,
    ],
  ].flatMap(([key, own = "", standard = "", description = "", example = ""]) => [
    [`Service${key}`, sent(own, description, example)],
    [`Webhook${key}`, sent(standard, `The same as \`${own}\`, by the name of Standard Webhooks.`, example)],
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

/** RFC 9457 members of the same refusal as the envelope (HTTP-15). */
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

/** Served beside the routes (src/http/docs.ts). */
export const health = route({
  method: "get",
  path: "/healthz",
  anyQuery: true,
  operationId: "getHealth",
  surfaces: ["public"],
  status: 200,
  errors: [],
  handle: async () => ({ status: "ok" }),
});
