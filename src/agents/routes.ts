// Routes of a platform's own agents.
import { route } from "../http/route.ts";
import { validFields } from "../http/schemas.ts";
import { agentParams, aidView, certificateView } from "../identity/schema.ts";
import { activateAgent } from "./activate.ts";
import { patchAgent, precheckAgentPatch } from "./patch.ts";
import { getAgent, getAgents, precheckAgent } from "./read.ts";
import { precheckRegistration, registerAgent } from "./register.ts";
import { reissueCertificate } from "./reissue.ts";
import { registrationFaults } from "./roles.ts";
import {
  agentInput,
  agentList,
  agentPatch,
  agentPatchRules,
  agentQuery,
  agentView,
  credentialsView,
  returnedAgentView,
  scopePatch,
  statusPatch,
} from "./schema.ts";
import { patchScope, precheckScopePatch } from "./scope.ts";
import { patchStatus } from "./status.ts";

export const agentRoutes = [
  route({
    method: "post",
    path: "/v1/agents",
    operationId: "registerAgent",
    tag: "Agents",
    summary: "Register an agent",
    description:
      "Answers the full identity document, unsigned, status DRAFT: no keys, no certificate, cannot transact. Where the principal's attestation is below the role's tier the call succeeds, and `warnings` says so; else it is an empty list.",
    body: agentInput,
    rules: registrationFaults,
    status: 201,
    response: { schema: aidView, description: "The agent's identity document, and warnings." },
    errors: [
      "tier_exceeds_accreditation",
      "invalid_status",
      "external_ref_exists",
      "catalog_url_not_permitted",
      "field_not_allowed_for_role",
    ],
    idempotency: "plain",
    surfaces: ["management"],
    handle: (call, { body }) => registerAgent(call, body),
    precheck: (call, { body }) => precheckRegistration(call, validFields(agentInput, body)),
  }),
  route({
    method: "get",
    path: "/v1/agents",
    operationId: "listAgents",
    tag: "Agents",
    summary: "List the platform's agents",
    description:
      "Newest first, of the key's environment. With `status` and no `principal_id` in the order in which the attestations of the agents' " +
      "principals end, the latest first. Where filters stand together, they are compared within at most 1,000 agents a page, which may " +
      "hold fewer than `limit`, or none, and still have more.",
    query: agentQuery,
    status: 200,
    response: { schema: agentList, description: "A page of agents." },
    errors: [],
    surfaces: ["management"],
    handle: (call, { query }) => getAgents(call, query),
  }),
  route({
    method: "get",
    path: "/v1/agents/{did}",
    operationId: "getAgent",
    tag: "Agents",
    summary: "Read an agent",
    params: agentParams,
    status: 200,
    response: { schema: agentView, description: "The agent, its markets and its escrow." },
    errors: ["not_found"],
    surfaces: ["management"],
    handle: (call, { params }) => getAgent(call, params.did),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
  route({
    method: "patch",
    path: "/v1/agents/{did}",
    operationId: "patchAgent",
    tag: "Agents",
    summary: "Change an agent's identity",
    description:
      "A new profile or address is a new version of the identity document. `external_ref`, of which null takes it away, and `metadata`, " +
      "which is replaced as a whole, stand in no document.",
    params: agentParams,
    body: agentPatch,
    rules: agentPatchRules,
    status: 200,
    response: { schema: agentView, description: "The agent." },
    errors: [
      "not_found",
      "no_changes_requested",
      "agent_status_not_mutable",
      "external_ref_exists",
      "catalog_url_not_permitted",
    ],
    lock: ({ did }) => did,
    surfaces: ["management"],
    handle: (call, { params, body }) => patchAgent(call, params.did, body),
    precheck: (call, { params, body }) => precheckAgentPatch(call, params.did, body),
  }),
  route({
    method: "post",
    path: "/v1/agents/{did}/activate",
    operationId: "activateAgent",
    tag: "Agents",
    summary: "Activate an agent",
    description:
      "Draws the key pair, issues the certificate, signs the document. The private key is in this answer only. Where the principal's attestation is below the role's tier the call succeeds, and `warnings` says so; else it is an empty list.",
    params: agentParams,
    status: 200,
    response: { schema: credentialsView, description: "The agent's credentials." },
    errors: ["not_found", "invalid_status"],
    idempotency: "secret",
    lock: ({ did }) => did,
    surfaces: ["management"],
    handle: (call, { params }) => activateAgent(call, params.did),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
  route({
    method: "post",
    path: "/v1/agents/{did}/certificate",
    operationId: "reissueAgentCertificate",
    tag: "Agents",
    summary: "Issue a new certificate for the same key",
    description: "After a renewed attestation, or before the old one ends. The old one stays good until then.",
    params: agentParams,
    status: 200,
    response: { schema: certificateView, description: "The certificate." },
    errors: ["not_found", "invalid_status"],
    idempotency: "plain",
    lock: ({ did }) => did,
    surfaces: ["management"],
    handle: (call, { params }) => reissueCertificate(call, params.did),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
  route({
    method: "patch",
    path: "/v1/agents/{did}/scope",
    operationId: "patchAgentScope",
    tag: "Agents",
    summary: "Change an agent's scope",
    description:
      "Issues a certificate that states the new scope. Where the scope is narrowed, those issued before count for 24 hours more.",
    params: agentParams,
    body: scopePatch,
    status: 200,
    response: { schema: agentView, description: "The agent." },
    errors: ["not_found", "no_changes_requested", "agent_status_not_mutable", "field_not_allowed_for_role"],
    lock: ({ did }) => did,
    surfaces: ["management"],
    handle: (call, { params, body }) => patchScope(call, params.did, body),
    precheck: (call, { params, body }) => precheckScopePatch(call, params.did, body, validFields(scopePatch, body)),
  }),
  route({
    method: "patch",
    path: "/v1/agents/{did}/status",
    operationId: "patchAgentStatus",
    tag: "Agents",
    summary: "Suspend, return or terminate an agent",
    params: agentParams,
    body: statusPatch,
    status: 200,
    response: { schema: returnedAgentView, description: "The agent." },
    errors: ["not_found", "invalid_status", "use_activate_endpoint", "escrow_constrained_cannot_reactivate"],
    lock: ({ did }) => did,
    surfaces: ["management"],
    handle: (call, { params, body }) => patchStatus(call, params.did, body),
    precheck: (call, { params }) => precheckAgent(call, params.did),
  }),
];
