// Routes of TOTP (CRED-28).
import { defineRoute } from "../http/route.ts";
import { findNamedAccount } from "./decide.ts";
import { accountStatusParams, statusReasonInput } from "./suspension-schema.ts";
import { confirmTotp, removeTotp, removeTotpOf, setUpTotp } from "./totp.ts";
import { totpConfirmation, totpRemoval, totpSetUp } from "./totp-schema.ts";

export const totpRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/totp",
    operationId: "setUpTotp",
    surfaces: ["session"],
    whenUsedUp: true,
    body: totpSetUp,
    status: 200,
    errors: ["current_password_invalid", "invalid_status"],
    handle: (call, { body }) => setUpTotp(call, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/totp/confirm",
    operationId: "confirmTotp",
    surfaces: ["session"],
    whenUsedUp: true,
    body: totpConfirmation,
    status: 200,
    errors: ["invalid_status"],
    handle: (call, { body }) => confirmTotp(call, body),
  }),
  defineRoute({
    method: "delete",
    path: "/v1/platform/totp",
    operationId: "removeTotp",
    surfaces: ["session"],
    body: totpRemoval,
    status: 204,
    errors: ["current_password_invalid", "invalid_status"],
    handle: (call, { body }) => removeTotp(call, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/operator/platforms/{platform_id}/totp/remove",
    operationId: "removePlatformTotp",
    surfaces: ["operator"],
    params: accountStatusParams,
    body: statusReasonInput,
    status: 200,
    errors: ["not_found", "invalid_status"],
    object: findNamedAccount,
    handle: (call, { params, body }) => removeTotpOf(call, params.platform_id, body),
  }),
];
