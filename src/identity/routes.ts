// Public routes of an agent and of the CA, and the operators' route of its keys. No answer of the agent's routes may be cached except a document that
// was requested by number (IDN-21), and the context, which never changes (IDN-31).
import * as z from "zod";
import { ServiceError } from "../core/errors.ts";
import { parseAcceptWeights } from "../http/accept.ts";
import { type Answer, answer, computeEntityTag } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { type AidNumbers, getAid, type ServedAid } from "./aid-read.ts";
import { getAuthority } from "./authority.ts";
import { getStatusList } from "./certificate.ts";
import { checkAid, checkCertificate, checkProof, issueChallenge } from "./handshake.ts";
import { buildAgentContext, getCertificate, getDidDocument, getStatus } from "./resolve.ts";
import { agentParams, aidInput, aidQuery, certificateInput, proofInput } from "./schema.ts";

const IMMUTABLE = "public, max-age=31536000, immutable";
const JSON_TYPE = "application/json";
const JWT_TYPE = "application/jwt";
export const DOCUMENT_TYPE = "application/did+json";
const LD_TYPE = "application/ld+json";

type AidRequest = { readonly query: AidNumbers; readonly headers: Readonly<Record<string, string | undefined>> };

const isNumbered = ({ version, revision }: AidNumbers): boolean => version !== undefined || revision !== undefined;

function chooseNumberedForm({ query, headers }: AidRequest): string | null {
  const weight = parseAcceptWeights(headers["accept"]);
  return isNumbered(query) ? (weight(JWT_TYPE) > weight(JSON_TYPE) ? "jwt" : "json") : null;
}

/** The entity tag differs by representation and covers the whole answer except the instant of the read (IDN-22). */
function answerAid({ json, jwt, tag, immutable }: ServedAid, headers: AidRequest["headers"]): Answer {
  const weight = parseAcceptWeights(headers["accept"]);
  const wantsJwt = weight(JWT_TYPE) > weight(JSON_TYPE) && (jwt !== undefined || weight(JSON_TYPE) === 0);
  if (wantsJwt && jwt === undefined)
    throw new ServiceError("not_found", { message: "A DRAFT has no signed document." });
  const [type, form] = wantsJwt ? [JWT_TYPE, "jwt"] : [JSON_TYPE, "json"];
  const caching = { ETag: `W/"${tag}-${form}"`, Vary: "Accept", "Cache-Control": immutable ? IMMUTABLE : "no-cache" };
  return answer(200, { ...caching, "Content-Type": type }, wantsJwt && jwt ? jwt() : json);
}

const DOCUMENTS = {
  aeap: {
    path: "/v1/agents/{did}/did.json",
    operationId: "getAgentDidDocument",
  },
  web: {
    path: "/v1/agents/{did}/did-web/did.json",
    operationId: "getAgentDidWebDocument",
  },
} as const;

const defineDocumentRoute = (form: keyof typeof DOCUMENTS) =>
  defineRoute({
    method: "get",
    ...DOCUMENTS[form],
    params: agentParams,
    status: 200,
    errors: ["not_found"],
    cors: true,
    replica: () => true,
    surfaces: ["public"],
    handle: async (call, { params }) => {
      const document = await getDidDocument(call, params.did, form);
      return answer(200, { "Content-Type": DOCUMENT_TYPE }, JSON.stringify(document));
    },
  });

export const identityRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/aid",
    operationId: "getAgentAid",
    params: agentParams,
    query: aidQuery,
    status: 200,
    errors: ["not_found"],
    cors: true,
    headers: ["accept", "if-none-match"],
    shared: chooseNumberedForm,
    replica: isNumbered,
    surfaces: ["public"],
    handle: async (call, { params, query, headers }) => answerAid(await getAid(call, params.did, query), headers),
  }),
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/status",
    operationId: "getAgentStatus",
    params: agentParams,
    status: 200,
    errors: ["not_found"],
    cors: true,
    surfaces: ["public"],
    handle: (call, { params }) => getStatus(call, params.did),
  }),
  defineRoute({
    method: "get",
    path: "/v1/agents/{did}/certificate",
    operationId: "getAgentCertificate",
    params: agentParams,
    status: 200,
    errors: ["not_found"],
    cors: true,
    surfaces: ["public"],
    handle: (call, { params }) => getCertificate(call, params.did),
  }),
  defineDocumentRoute("aeap"),
  defineDocumentRoute("web"),
  defineRoute({
    method: "get",
    path: "/contexts/aeap/v1",
    operationId: "getContext",
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: async (call) => {
      const headers = { "Content-Type": LD_TYPE, "Cache-Control": IMMUTABLE };
      return answer(200, headers, JSON.stringify(buildAgentContext(call.deps.config.issuer)));
    },
  }),
];

// ---- The CA's keys, for operators (IDN-29, IDN-38) ----------------------------------------------------------------------

export const authorityRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/operator/ca",
    operationId: "getAuthority",
    surfaces: ["operator"],
    status: 200,
    errors: [],
    handle: (call) => getAuthority(call),
  }),
];

// ---- For counterparties before they pay (IDN-25, IDN-26, PRF-13) --------------------------------------------------------

const CACHED = { "Content-Type": "application/json", "Cache-Control": "public, max-age=3600" };
export const JWKS_TYPE = "application/jwk-set+json";

const JWKS_PATHS = ["/.well-known/aeap-ca-jwks", "/.well-known/aeap-ca-jwks.json"] as const;
const defineJwksRoute = (path: (typeof JWKS_PATHS)[number]) =>
  defineRoute({
    method: "get",
    path,
    operationId: path.endsWith(".json") ? "getCaJwksJson" : "getCaJwks",
    surfaces: ["public"],
    status: 200,
    errors: [],
    cors: true,
    headers: ["if-none-match"],
    handle: async (call) => {
      const keys = JSON.stringify((await call.deps.ca()).jwks);
      return answer(200, { ...CACHED, "Content-Type": JWKS_TYPE, ETag: await computeEntityTag(keys) }, keys);
    },
  });

export const handshakeRoutes = [
  defineRoute({
    method: "get",
    path: "/v1/verify/challenge",
    operationId: "getChallenge",
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: (call) => issueChallenge(call),
  }),

  defineRoute({
    method: "post",
    path: "/v1/verify/certificate",
    neverBusy: true,
    operationId: "verifyCertificate",
    body: certificateInput,
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: (call, { body }) => checkCertificate(call, body.certificate),
  }),

  defineRoute({
    method: "post",
    path: "/v1/verify/proof",
    neverBusy: true,
    operationId: "verifyProof",
    body: proofInput,
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: (call, { body }) => checkProof(call, body),
  }),

  defineRoute({
    method: "post",
    path: "/v1/verify/aid",
    neverBusy: true,
    operationId: "verifyAid",
    body: aidInput,
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: (call, { body }) => checkAid(call, body.aid),
  }),

  ...JWKS_PATHS.map(defineJwksRoute),
  defineRoute({
    method: "get",
    path: "/.well-known/aeap",
    operationId: "getDiscovery",
    status: 200,
    errors: [],
    cors: true,
    surfaces: ["public"],
    handle: async (call) => {
      const { issuer, serviceDid, statusPage } = call.deps.config;
      const view = {
        service_did: serviceDid,
        issuer,
        jwks_uri: `${issuer}/.well-known/aeap-ca-jwks`,
        challenge_endpoint: `${issuer}/v1/verify/challenge`,
        status_lists_uri: `${issuer}/.well-known/aeap-status-lists/1`,
        proof_formats: ["aeap-req:v1", "bound", "challenge_response"],
        status_page: statusPage,
      };
      return answer(200, CACHED, JSON.stringify(view));
    },
  }),

  defineRoute({
    method: "get",
    path: "/.well-known/aeap-status-lists/{n}",
    operationId: "getStatusList",
    params: z.object({ n: z.string() }),
    status: 200,
    errors: ["not_found"],
    cors: true,
    shared: () => "jwt",
    replica: () => true,
    surfaces: ["public"],
    handle: async (call, { params }) => {
      const { list, maxAgeSeconds, currentSeconds } = await getStatusList(call, params.n);
      const headers = {
        "Content-Type": "application/statuslist+jwt",
        "Cache-Control": `public, max-age=${maxAgeSeconds}, s-maxage=${currentSeconds}`,
      };
      return answer(200, headers, list);
    },
  }),
];
