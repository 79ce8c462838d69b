// Routes of Verifiers, for operators (PRN-22).
import { defineRoute } from "../http/route.ts";
import { findKeySetFaults, verifierInput, verifierParams, verifierPatch, verifierQuery } from "./schema.ts";
import { getVerifier, getVerifiers, patchVerifier, precheckVerifier, registerVerifier } from "./verifiers.ts";

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
    handle: (call, { params }) => getVerifier(call, params.verifier_id),
    precheck: (call, { params }) => precheckVerifier(call, params.verifier_id),
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
    handle: (call, { params, body }) => patchVerifier(call, params.verifier_id, body),
    precheck: (call, { params }) => precheckVerifier(call, params.verifier_id),
  }),
];
