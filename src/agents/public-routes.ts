// Specification 4 and contract section 5: what anyone may read of an agent. Never stored by a cache on the way, but for
// an earlier version of a document, which is immutable.
import { z } from "@hono/zod-openapi";
import { parseAccept } from "hono/utils/accept";
import { createPublicRouter } from "../auth/public.ts";
import { ServiceError } from "../core/errors.ts";
import { type Answer, answer } from "../http/responses.ts";
import { instant } from "../http/schemas.ts";
import { aidView, didDocumentView } from "./aid-schema.ts";
import { getAid, getCertificate, getDidDocument, getRating, getStatus, type ServedAid } from "./identity.ts";
import { agentParams, aidQuery, certificateView, statusView } from "./schema.ts";

export const publicAgentRoutes = createPublicRouter();

publicAgentRoutes.route(
  {
    method: "get",
    path: "/v1/agents/{did}/aid",
    operationId: "getAgentAid",
    tag: "Identity",
    summary: "Resolve an identity document",
    description:
      "`Accept: application/jwt` answers the signed document as a compact JWS. `?version=N` an earlier, immutable version.",
    params: agentParams,
    query: aidQuery,
    status: 200,
    response: { schema: aidView, description: "The document.", types: ["application/json", "application/jwt"] },
    errors: ["not_found"],
    cors: true,
    headers: ["accept", "if-none-match"],
  },
  async (call, { params, query, headers }) => serve(await getAid(call, params.did, query.version), headers),
);

/** RFC 9110, 12.5.1: how much the caller weighs a type, by the most particular range that covers it. */
function weights(accept: string): (type: string) => number {
  const ranges = parseAccept(accept);
  return (type) => {
    const covering = [type, `${type.split("/")[0]}/*`, "*/*"];
    return covering.map((name) => ranges.find((range) => range.type.toLowerCase() === name)).find(Boolean)?.q ?? 0;
  };
}

const opaque = (tag: string): string => tag.trim().replace(/^W\//, "");

const IMMUTABLE = "public, max-age=31536000, immutable";

function serve(aid: ServedAid, headers: Record<string, string | undefined>): Answer {
  const [json, jwt] = ["application/json", "application/jwt"] as const;
  const weight = weights(headers["accept"] ?? "*/*");
  const wantsJwt = weight(jwt) > weight(json) && (aid.jwt !== null || weight(json) === 0);
  if (wantsJwt && aid.jwt === null) throw new ServiceError("not_found", { message: "A DRAFT has no signed document." });
  const shared = {
    ETag: aid.etag,
    Vary: "Accept",
    ...(aid.immutable ? { "Cache-Control": IMMUTABLE } : { "Cache-Control": "no-cache" }),
  };
  // RFC 9110, 13.1.2: If-None-Match compares weakly.
  const known = (headers["if-none-match"] ?? "").split(",").map(opaque);
  if (known.includes(opaque(aid.etag)) || known.includes("*")) return answer(304, shared, null);
  return wantsJwt
    ? answer(200, { ...shared, "Content-Type": "application/jwt" }, aid.jwt)
    : answer(200, { ...shared, "Content-Type": "application/json" }, aid.json);
}

publicAgentRoutes.route(
  {
    method: "get",
    path: "/v1/agents/{did}/status",
    operationId: "getAgentStatus",
    tag: "Identity",
    summary: "Ask for an agent's present status",
    description: "What a certificate never says. Computed at the instant of the call.",
    params: agentParams,
    status: 200,
    response: { schema: statusView, description: "The status." },
    errors: ["not_found"],
    cors: true,
  },
  (call, { params }) => getStatus(call, params.did),
);

const ratingView = z
  .object({
    did: z.string(),
    agent_rating: z.number().min(0).max(1).nullable(),
    interactions: z.number().int(),
    counterparties: z.number().int(),
    as_of: instant,
  })
  .openapi("AgentRating");

publicAgentRoutes.route(
  {
    method: "get",
    path: "/v1/agents/{did}/rating",
    operationId: "getAgentRating",
    tag: "Identity",
    summary: "Read an agent's rating",
    description: "0.00 to 1.00, or null while unrated. How it is computed: `GET /v1/rating-method`.",
    params: agentParams,
    status: 200,
    response: { schema: ratingView, description: "The rating." },
    errors: ["not_found"],
    cors: true,
  },
  (call, { params }) => getRating(call, params.did),
);

publicAgentRoutes.route(
  {
    method: "get",
    path: "/v1/agents/{did}/certificate",
    operationId: "getAgentCertificate",
    tag: "Identity",
    summary: "Read an agent's certificate",
    params: agentParams,
    status: 200,
    response: { schema: certificateView, description: "The certificate." },
    errors: ["not_found"],
    cors: true,
  },
  (call, { params }) => getCertificate(call, params.did),
);

publicAgentRoutes.route(
  {
    method: "get",
    path: "/v1/agents/{did}/did.json",
    operationId: "getAgentDidDocument",
    tag: "Identity",
    summary: "Resolve an agent's DID document",
    params: agentParams,
    status: 200,
    response: { schema: didDocumentView, description: "The DID document.", types: ["application/did+json"] },
    errors: ["not_found"],
    cors: true,
  },
  async (call, { params }) => {
    const { document } = await getDidDocument(call, params.did);
    return answer(200, { "Content-Type": "application/did+json" }, JSON.stringify(document));
  },
);
