// Routes of the review and of an account's status: what the owner requests, and what the operator decides.
import { defineRoute } from "../http/route.ts";
import { decideProfile, decideVerification, findNamedAccount, getReview } from "./decide.ts";
import { closePlatform, reinstatePlatform, suspendPlatform } from "./lifecycle.ts";
import {
  accountParams,
  accountStatusParams,
  closingInput,
  decisionInput,
  findDecisionFaults,
  renewalInput,
  statusReasonInput,
} from "./schema.ts";
import { renewAttestation, submitVerification } from "./submit.ts";

// ---- The review (ACC-21, ACC-24) -----------------------------------------------------------------------------------------

export const reviewRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/verification",
    operationId: "submitVerification",
    surfaces: ["session"],
    status: 200,
    errors: ["kyb_in_progress", "verification_already_accredited", "invalid_status"],
    fieldErrors: ["missing_fields"],
    idempotency: "plain",
    handle: (call) => submitVerification(call),
  }),
  defineRoute({
    method: "get",
    path: "/v1/operator/platforms/{platform_id}",
    operationId: "getPlatformAccount",
    surfaces: ["operator"],
    params: accountParams,
    status: 200,
    errors: ["not_found"],
    object: findNamedAccount,
    handle: getReview,
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/platforms/{platform_id}/decision",
    operationId: "decideVerification",
    surfaces: ["operator"],
    params: accountParams,
    body: decisionInput,
    rules: findDecisionFaults,
    status: 200,
    errors: ["not_found", "invalid_status"],
    fieldErrors: ["invalid_field"],
    object: findNamedAccount,
    handle: (call, { params, body }) =>
      body.subject === "profile"
        ? decideProfile(call, params.platform_id, body)
        : decideVerification(call, params.platform_id, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/platforms/{platform_id}/attestation",
    operationId: "renewTenantAttestation",
    surfaces: ["operator"],
    params: accountParams,
    body: renewalInput,
    status: 201,
    errors: ["not_found", "invalid_status"],
    idempotency: "plain",
    object: findNamedAccount,
    handle: (call, { params, body }) => renewAttestation(call, params.platform_id, body),
  }),
];

// ---- Suspension, reinstatement and closing (ACC-25, ACC-26, ACC-27) ------------------------------------------------------

export const accountStatusRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/close",
    operationId: "closePlatform",
    surfaces: ["session"],
    body: closingInput,
    status: 200,
    errors: [
      "confirmation_mismatch",
      "current_password_invalid",
      "close_blocked_open_disputes",
      "close_blocked_escrow",
    ],
    whenUsedUp: true,
    handle: (call, { body }) => closePlatform(call, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/platforms/{platform_id}/suspend",
    operationId: "suspendPlatform",
    surfaces: ["operator"],
    params: accountStatusParams,
    body: statusReasonInput,
    status: 200,
    errors: ["not_found", "invalid_status"],
    object: findNamedAccount,
    handle: (call, { params, body }) => suspendPlatform(call, params.platform_id, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/platforms/{platform_id}/reinstate",
    operationId: "reinstatePlatform",
    surfaces: ["operator"],
    params: accountStatusParams,
    body: statusReasonInput,
    status: 200,
    errors: ["not_found", "invalid_status"],
    object: findNamedAccount,
    handle: (call, { params, body }) => reinstatePlatform(call, params.platform_id, body),
  }),
];
