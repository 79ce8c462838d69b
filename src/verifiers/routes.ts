// Routes of Verifiers, for operators (PRN-22).
import { route } from "../http/route.ts";
import {
  keyFaults,
  verifierInput,
  verifierList,
  verifierParams,
  verifierPatch,
  verifierQuery,
  verifierView,
} from "./schema.ts";
import { getVerifier, getVerifiers, patchVerifier, precheckVerifier, registerVerifier } from "./verifiers.ts";

export const verifierRoutes = [
  route({
    method: "post",
    path: "/v1/operator/verifiers",
    operationId: "registerVerifier",
    tag: "Operator",
    summary: "Register a Verifier",
    description:
      "Its keys are registered by value: nothing is fetched. It is `enabled` unless `status` says otherwise, and from then on production " +
      "takes its attestations.",
    surfaces: ["operator"],
    body: verifierInput,
    rules: keyFaults,
    status: 201,
    response: { schema: verifierView, description: "The Verifier." },
    errors: [],
    idempotency: "plain",
    handle: (call, { body }) => registerVerifier(call, body),
  }),
  route({
    method: "get",
    path: "/v1/operator/verifiers",
    operationId: "listVerifiers",
    tag: "Operator",
    summary: "List Verifiers",
    description: "Newest first, the disabled ones too.",
    surfaces: ["operator"],
    query: verifierQuery,
    status: 200,
    response: { schema: verifierList, description: "A page of Verifiers." },
    errors: [],
    handle: (call, { query }) => getVerifiers(call, query),
  }),
  route({
    method: "get",
    path: "/v1/operator/verifiers/{verifier_id}",
    operationId: "getVerifier",
    tag: "Operator",
    summary: "Read a Verifier",
    surfaces: ["operator"],
    params: verifierParams,
    status: 200,
    response: { schema: verifierView, description: "The Verifier." },
    errors: ["not_found"],
    handle: (call, { params }) => getVerifier(call, params.verifier_id),
    precheck: (call, { params }) => precheckVerifier(call, params.verifier_id),
  }),
  route({
    method: "patch",
    path: "/v1/operator/verifiers/{verifier_id}",
    operationId: "patchVerifier",
    tag: "Operator",
    summary: "Change a Verifier's name, keys or status",
    description:
      "The key set is replaced as a whole. What a disabled Verifier has attested stays, and nothing new is taken from it.",
    surfaces: ["operator"],
    params: verifierParams,
    body: verifierPatch,
    rules: keyFaults,
    status: 200,
    response: { schema: verifierView, description: "The Verifier." },
    errors: ["not_found", "no_changes_requested"],
    handle: (call, { params, body }) => patchVerifier(call, params.verifier_id, body),
    precheck: (call, { params }) => precheckVerifier(call, params.verifier_id),
  }),
];
