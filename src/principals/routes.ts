// Specification 4, Principals.
import { createManagementRouter } from "../auth/management.ts";
import {
  principalInput,
  principalList,
  principalParams,
  principalQuery,
  principalView,
  proposedPrincipal,
} from "./schema.ts";
import { examinePrincipal, getPrincipal, getPrincipals, registerPrincipal } from "./service.ts";

export const principalRoutes = createManagementRouter();

principalRoutes.route(
  {
    method: "post",
    path: "/v1/principals",
    operationId: "registerPrincipal",
    tag: "Principals",
    summary: "Register a principal",
    description: "Records the legal person behind agents, with the attestation of an independent Verifier.",
    body: principalInput,
    status: 201,
    response: { schema: principalView, description: "The principal." },
    errors: ["external_ref_exists"],
    idempotency: "plain",
  },
  (call, { body }) => registerPrincipal(call, body()),
  (call, { body }) => examinePrincipal(call, proposedPrincipal(body)),
);

principalRoutes.route(
  {
    method: "get",
    path: "/v1/principals",
    operationId: "listPrincipals",
    tag: "Principals",
    summary: "List principals",
    description: "Newest first, without the tenant principal.",
    query: principalQuery,
    status: 200,
    response: { schema: principalList, description: "A page of principals." },
    errors: [],
  },
  (call, { query }) => getPrincipals(call, query),
);

principalRoutes.route(
  {
    method: "get",
    path: "/v1/principals/{principal_id}",
    operationId: "getPrincipal",
    tag: "Principals",
    summary: "Read a principal",
    params: principalParams,
    status: 200,
    response: { schema: principalView, description: "The principal." },
    errors: ["not_found"],
  },
  (call, { params }) => getPrincipal(call, params.principal_id),
);
