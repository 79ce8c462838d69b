// Routes of Verifiers, for operators (PRN-22).
import { defineRoute } from "../http/route.ts";
import { findKeySetFaults, verifierInput, verifierParams, verifierPatch, verifierQuery } from "./schema.ts";
import { findNamedVerifier, getVerifier, getVerifiers, patchVerifier, registerVerifier } from "./verifiers.ts";

export const verifierRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/operator/verifiers",
    operationId: "registerVerifier",
    surfaces: ["operator"],
    body: verifierInput,
    rules: findKeySetFaults,
    status: 201,
    errors: [],
    fieldErrors: ["invalid_field"],
    idempotency: "plain",
    handle: (call, { body }) => registerVerifier(call, body),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/verifiers",
    operationId: "listVerifiers",
    surfaces: ["operator"],
    query: verifierQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getVerifiers(call, query),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/verifiers/{verifier_id}",
    operationId: "getVerifier",
    surfaces: ["operator"],
    params: verifierParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedVerifier,
    handle: getVerifier,
  }),
  defineRoute({
    method: "patch",
    path: "/v1/operator/verifiers/{verifier_id}",
    operationId: "patchVerifier",
    surfaces: ["operator"],
    params: verifierParams,
    body: verifierPatch,
    rules: findKeySetFaults,
    status: 200,
    errors: ["not_found", "no_changes_requested"],
    fieldErrors: ["invalid_field"],
    object: findNamedVerifier,
    handle: (call, { body }) => patchVerifier(call, body),
  }),
];
