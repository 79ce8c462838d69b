// Routes of the review: its submission by the account, and the operator's side (ACC-21, ACC-24).
import { defineRoute } from "../http/route.ts";

import { renewAttestation } from "./attest.ts";
import { decideVerification, findNamedAccount, getReview } from "./decide.ts";
import { decideProfile } from "./decide-profile.ts";
import { accountParams } from "./document-schema.ts";
import { decisionInput, findDecisionFaults, renewalInput } from "./review-schema.ts";

import { submitVerification } from "./submit.ts";

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
