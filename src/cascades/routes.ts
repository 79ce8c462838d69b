// Routes that change, suspend, reactivate and close principals and customers (PRN-18, PRN-20, PRN-24), and routes of attestations (PRN-21, PRN-25).
import { findNamedCustomer } from "../customers/customers.ts";
import { customerParams } from "../customers/schema.ts";
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { findNamedPrincipal } from "../principals/read.ts";
import {
  attestationParams,
  attestationQuery,
  principalParams,
  principalPatch,
  principalPatchRules,
  recordingInput,
  revocation,
  toProposedRecording,
} from "../principals/schema.ts";
import { getAttestations, precheckRecording, recordAttestation } from "./attest.ts";
import { reactivateCustomer, suspendCustomer } from "./customer.ts";
import { patchPrincipal, precheckPrincipalPatch } from "./patch.ts";
import { closePrincipal, findNamedClosing, reactivatePrincipal, suspendPrincipal } from "./principal.ts";
import { precheckRevocation, revokeByOperator, revokeByVerifier } from "./revoke.ts";
import { customerStandingInput, principalStandingInput, reactivationInput } from "./schema.ts";

const principalAct = {
  method: "post",
  surfaces: ["management"],
  params: principalParams,
  body: principalStandingInput,
  optionalBody: true,
  status: 200,
} as const;

export const principalStandingRoutes = [
  defineRoute({
    method: "patch",
    path: "/v1/principals/{principal_id}",
    operationId: "patchPrincipal",
    surfaces: ["management"],
    params: principalParams,
    body: principalPatch,
    rules: principalPatchRules,
    status: 200,
    errors: [
      "not_found",
      "no_changes_requested",
      "invalid_status",
      "external_ref_exists",
      "tenant_principal_field_locked",
    ],
    fieldErrors: ["invalid_field"],
    object: findNamedPrincipal,
    handle: (call, { params, body }) => patchPrincipal(call, params.principal_id, body),
    precheck: (call, { body }) => precheckPrincipalPatch(call, pickValidFields(principalPatch, body)),
  }),
  defineRoute({
    method: "post",
    path: "/v1/attestations/{attestation_id}/revoke",
    operationId: "revokeAttestation",
    surfaces: ["verifier", "operator"],
    params: attestationParams,
    body: revocation,
    optionalBody: true,
    status: 200,
    errors: ["not_found"],
    handle: (call, { params, body }) =>
      call.surface === "verifier"
        ? revokeByVerifier(call, params.attestation_id, body)
        : revokeByOperator(call, params.attestation_id, body),
    precheck: (call, { params, body }) =>
      precheckRevocation(call, params.attestation_id, pickValidFields(revocation, body)),
  }),
  defineRoute({
    method: "post",
    path: "/v1/principals/{principal_id}/attestations",
    operationId: "recordAttestation",
    surfaces: ["management"],
    params: principalParams,
    body: recordingInput,
    status: 201,
    errors: ["not_found", "invalid_status", "tenant_principal_field_locked"],
    idempotency: "plain",
    object: findNamedPrincipal,
    handle: (call, { params, body }) => recordAttestation(call, params.principal_id, body),
    precheck: (call, { params, body }) => precheckRecording(call, params.principal_id, toProposedRecording(body)),
  }),
  defineRoute({
    method: "get",
    path: "/v1/principals/{principal_id}/attestations",
    operationId: "listAttestations",
    surfaces: ["management"],
    params: principalParams,
    query: attestationQuery,
    status: 200,
    errors: ["not_found"],
    object: findNamedPrincipal,
    handle: (call, { params, query }) => getAttestations(call, params.principal_id, query),
  }),
  defineRoute({
    ...principalAct,
    path: "/v1/principals/{principal_id}/suspend",
    operationId: "suspendPrincipal",
    errors: ["not_found", "invalid_status", "tenant_principal_field_locked"],
    whenUsedUp: true,
    object: findNamedPrincipal,
    handle: (call, { params, body }) => suspendPrincipal(call, params.principal_id, body),
  }),
  defineRoute({
    ...principalAct,
    path: "/v1/principals/{principal_id}/reactivate",
    operationId: "reactivatePrincipal",
    body: reactivationInput,
    errors: ["not_found", "invalid_status", "tenant_principal_field_locked"],
    object: findNamedPrincipal,
    handle: (call, { params, body }) => reactivatePrincipal(call, params.principal_id, body),
  }),
  defineRoute({
    ...principalAct,
    path: "/v1/principals/{principal_id}/close",
    operationId: "closePrincipal",
    errors: ["not_found", "invalid_status", "close_blocked_open_disputes", "tenant_principal_field_locked"],
    whenUsedUp: true,
    object: findNamedClosing,
    handle: (call, { params, body }) => closePrincipal(call, params.principal_id, body),
  }),
];

const customerAct = {
  method: "post",
  surfaces: ["management"],
  params: customerParams,
  body: customerStandingInput,
  optionalBody: true,
  status: 200,
  errors: ["not_found", "invalid_status"],
} as const;

export const customerStandingRoutes = [
  defineRoute({
    ...customerAct,
    path: "/v1/customers/{customer_id}/suspend",
    operationId: "suspendCustomer",
    whenUsedUp: true,
    object: findNamedCustomer,
    handle: (call, { params, body }) => suspendCustomer(call, params.customer_id, body),
  }),
  defineRoute({
    ...customerAct,
    path: "/v1/customers/{customer_id}/reactivate",
    operationId: "reactivateCustomer",
    body: reactivationInput,
    object: findNamedCustomer,
    handle: (call, { params, body }) => reactivateCustomer(call, params.customer_id, body),
  }),
];
