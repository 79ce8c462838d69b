// Routes of the standing of principals and of customers (PRN-18, PRN-24), and of attestations (PRN-21).
import { precheckCustomer } from "../customers/read.ts";
import { customerParams, customerView } from "../customers/schema.ts";
import { route } from "../http/route.ts";
import { validFields } from "../http/schemas.ts";
import { precheckOwnPrincipal } from "../principals/read.ts";
import {
  attestationList,
  attestationParams,
  attestationQuery,
  principalParams,
  principalPatch,
  principalPatchRules,
  principalView,
  proposedRecording,
  recordingInput,
  revocation,
  revocationView,
} from "../principals/schema.ts";
import { getAttestations, precheckRecording, recordAttestation } from "./attestations.ts";
import { reactivateCustomer, suspendCustomer } from "./customer.ts";
import { patchPrincipal, precheckPatch } from "./patch.ts";
import { closePrincipal, reactivatePrincipal, suspendPrincipal } from "./principal.ts";
import { precheckRevocation, revokeAnyones, revokeOwn } from "./revoke.ts";
import {
  attestedPrincipal,
  customerStandingInput,
  principalStandingInput,
  reactivatedCustomer,
  reactivatedPrincipal,
  reactivationInput,
} from "./schema.ts";

const REACTIVATE_AGENTS = "With `reactivate_agents` they return together.";

const standing = {
  method: "post",
  tag: "Principals",
  surfaces: ["management"],
  params: principalParams,
  body: principalStandingInput,
  optionalBody: true,
  status: 200,
  response: { schema: principalView, description: "The principal." },
} as const;

export const principalStandingRoutes = [
  route({
    method: "patch",
    path: "/v1/principals/{principal_id}",
    operationId: "patchPrincipal",
    tag: "Principals",
    summary: "Change a principal's group, reference or metadata",
    description:
      "`customer_id` null ungroups it. Metadata is replaced as a whole. Whoever it is stays as it was registered.",
    surfaces: ["management"],
    params: principalParams,
    body: principalPatch,
    rules: principalPatchRules,
    status: 200,
    response: { schema: principalView, description: "The principal." },
    errors: [
      "not_found",
      "no_changes_requested",
      "invalid_status",
      "external_ref_exists",
      "tenant_principal_field_locked",
    ],
    fieldErrors: ["invalid_field"],
    handle: (call, { params, body }) => patchPrincipal(call, params.principal_id, body),
    precheck: (call, { params, body }) => precheckPatch(call, params.principal_id, validFields(principalPatch, body)),
  }),
  route({
    method: "post",
    path: "/v1/attestations/{attestation_id}/revoke",
    operationId: "revokeAttestation",
    tag: "Principals",
    summary: "Take an attestation back",
    description:
      "By its Verifier, or by an operator, who names the Verifier. From the commit on no agent of any principal that it backs transacts, and it is " +
      "recorded for nobody again. Taken back once more it is answered the same.",
    surfaces: ["verifier", "operator"],
    params: attestationParams,
    body: revocation,
    optionalBody: true,
    status: 200,
    response: { schema: revocationView, description: "The revocation." },
    errors: ["not_found"],
    handle: (call, { params, body }) =>
      call.surface === "verifier"
        ? revokeOwn(call, params.attestation_id, body)
        : revokeAnyones(call, params.attestation_id, body),
    precheck: (call, { params, body }) =>
      precheckRevocation(call, params.attestation_id, validFields(revocation, body)),
  }),
  route({
    method: "post",
    path: "/v1/principals/{principal_id}/attestations",
    operationId: "recordAttestation",
    tag: "Principals",
    summary: "Record a renewed attestation",
    description:
      "It counts from now on: the principal returns to ACTIVE, unless something else stops it. Its agents stay SUSPENDED until each is reactivated " +
      `by its status. ${REACTIVATE_AGENTS} An agent whose certificate names the earlier attestation returns with a new certificate for the same ` +
      "key. An agent that was never suspended keeps its certificate, which ends with the earlier attestation: " +
      "`POST /v1/agents/{did}/certificate` issues another before that.",
    surfaces: ["management"],
    params: principalParams,
    body: recordingInput,
    status: 201,
    response: { schema: attestedPrincipal, description: "The attestation, and the principal's status by it." },
    errors: ["not_found", "invalid_status", "tenant_principal_field_locked"],
    idempotency: "plain",
    handle: (call, { params, body }) => recordAttestation(call, params.principal_id, body),
    precheck: (call, { params, body }) => precheckRecording(call, params.principal_id, proposedRecording(body)),
  }),
  route({
    method: "get",
    path: "/v1/principals/{principal_id}/attestations",
    operationId: "listAttestations",
    tag: "Principals",
    summary: "List a principal's attestations",
    description: "All that were recorded, newest first.",
    surfaces: ["management"],
    params: principalParams,
    query: attestationQuery,
    status: 200,
    response: { schema: attestationList, description: "A page of attestations." },
    errors: ["not_found"],
    handle: (call, { params, query }) => getAttestations(call, params.principal_id, query),
    precheck: (call, { params }) => precheckOwnPrincipal(call, params.principal_id),
  }),
  route({
    ...standing,
    path: "/v1/principals/{principal_id}/suspend",
    operationId: "suspendPrincipal",
    summary: "Suspend a principal",
    description:
      "From the commit on none of its agents transacts. One that something else has stopped already stays stopped when that lets it go.",
    errors: ["not_found", "invalid_status", "tenant_principal_field_locked"],
    whenUsedUp: true,
    handle: (call, { params, body }) => suspendPrincipal(call, params.principal_id, body),
    precheck: (call, { params }) => precheckOwnPrincipal(call, params.principal_id),
  }),
  route({
    ...standing,
    path: "/v1/principals/{principal_id}/reactivate",
    operationId: "reactivatePrincipal",
    summary: "Reactivate a suspended principal",
    description: `Its agents stay SUSPENDED until each is reactivated by its status. ${REACTIVATE_AGENTS}`,
    body: reactivationInput,
    response: { schema: reactivatedPrincipal, description: "The principal." },
    errors: ["not_found", "invalid_status", "tenant_principal_field_locked"],
    handle: (call, { params, body }) => reactivatePrincipal(call, params.principal_id, body),
    precheck: (call, { params }) => precheckOwnPrincipal(call, params.principal_id),
  }),
  route({
    ...standing,
    path: "/v1/principals/{principal_id}/close",
    operationId: "closePrincipal",
    summary: "Close a principal",
    description:
      "For good: its agents are REVOKED, whatever their state, and it gives its name and its reference back. Refused while an agent of it is " +
      "ACTIVE or FUNDING. The settled history stays readable.",
    errors: ["not_found", "invalid_status", "close_blocked_open_disputes", "tenant_principal_field_locked"],
    whenUsedUp: true,
    handle: (call, { params, body }) => closePrincipal(call, params.principal_id, body),
    precheck: (call, { params }) => precheckOwnPrincipal(call, params.principal_id),
  }),
];

const customerStanding = {
  method: "post",
  tag: "Customers",
  surfaces: ["management"],
  params: customerParams,
  body: customerStandingInput,
  optionalBody: true,
  status: 200,
  response: { schema: customerView, description: "The customer." },
  errors: ["not_found", "invalid_status"],
} as const;

export const customerStandingRoutes = [
  route({
    ...customerStanding,
    path: "/v1/customers/{customer_id}/suspend",
    operationId: "suspendCustomer",
    summary: "Suspend a customer",
    description:
      "All principals that it groups are SUSPENDED with it: from the commit on none of their agents transacts. Nobody joins it while it is " +
      "SUSPENDED.",
    whenUsedUp: true,
    handle: (call, { params, body }) => suspendCustomer(call, params.customer_id, body),
    precheck: (call, { params }) => precheckCustomer(call, params.customer_id),
  }),
  route({
    ...customerStanding,
    path: "/v1/customers/{customer_id}/reactivate",
    operationId: "reactivateCustomer",
    summary: "Reactivate a suspended customer",
    description:
      "Takes the customer's suspension away from each of its principals, and nothing else that stops them. Their agents stay SUSPENDED until " +
      `each is reactivated by its status. ${REACTIVATE_AGENTS} Refused with \`Retry-After\` while agents are still being suspended.`,
    body: reactivationInput,
    response: { schema: reactivatedCustomer, description: "The customer." },
    handle: (call, { params, body }) => reactivateCustomer(call, params.customer_id, body),
    precheck: (call, { params }) => precheckCustomer(call, params.customer_id),
  }),
];
