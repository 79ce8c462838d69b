// Routes that change an account's status: suspension and reinstatement by the operator, closing by its owner (ACC-27, ACC-25, ACC-26).
import { defineRoute } from "../http/route.ts";
import { closePlatform } from "./close.ts";
import { findNamedAccount } from "./decide.ts";

import { reinstatePlatform, suspendPlatform } from "./suspension.ts";
import { accountStatusParams, closingInput, statusReasonInput } from "./suspension-schema.ts";

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
