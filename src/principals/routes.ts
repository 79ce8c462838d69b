// Routes of principals (PRN-1, PRN-5).
import { defineRoute } from "../http/route.ts";
import { findNamedPrincipal, getPrincipal, getPrincipals } from "./read.ts";
import { precheckPrincipal, registerPrincipal } from "./register.ts";
import { principalInput, principalParams, principalQuery, toProposedPrincipal } from "./schema.ts";

export const principalRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/principals",
    operationId: "registerPrincipal",
    body: principalInput,
    status: 201,
    errors: ["external_ref_exists", "invalid_status"],
    idempotency: "plain",
    surfaces: ["management"],
    handle: (call, { body }) => registerPrincipal(call, body),
    precheck: (call, { body }) => precheckPrincipal(call, toProposedPrincipal(body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/principals",
    operationId: "listPrincipals",
    query: principalQuery,
    status: 200,
    errors: [],
    surfaces: ["management"],
    handle: (call, { query }) => getPrincipals(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/principals/{principal_id}",
    operationId: "getPrincipal",
    params: principalParams,
    status: 200,
    errors: ["not_found"],
    surfaces: ["management"],
    object: findNamedPrincipal,
    handle: getPrincipal,
  }),
];
