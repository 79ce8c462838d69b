// Public routes for counterparties before they pay: challenge, checks, keys, discovery and status lists (IDN-25, IDN-26, PRF-13).
import * as z from "zod";
import { answer, computeEntityTag } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { checkAid, checkCertificate, checkProof, issueChallenge } from "./handshake.ts";
import { aidInput, certificateInput, proofInput } from "./handshake-schema.ts";
import { getStatusList } from "./status-list.ts";

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
