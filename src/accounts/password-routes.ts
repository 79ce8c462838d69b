// Routes of the password and of the address (CRED-22, CRED-23, ACC-13).
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import { requestEmailChange } from "./change-email.ts";
import { changePassword, precheckPasswordChange } from "./change-password.ts";
import { emailChangeInput, passwordChangeInput, passwordResetInput } from "./password-schema.ts";
import { forgotPassword, precheckPasswordReset, resetPassword } from "./reset-password.ts";
import { addressInput } from "./sign-up-schema.ts";

export const passwordRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/password",
    operationId: "changePassword",
    surfaces: ["session"],
    body: passwordChangeInput,
    status: 200,
    errors: ["current_password_invalid"],
    whenUsedUp: true,
    handle: (call, { body }) => changePassword(call, body),
    precheck: (call, { body }) => precheckPasswordChange(call, pickValidFields(passwordChangeInput, body)),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/password/forgot",
    neverBusy: true,
    operationId: "forgotPassword",
    surfaces: ["public"],
    body: addressInput,
    status: 202,
    errors: [],
    handle: (call, { body }) => forgotPassword(call, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/password/reset",
    operationId: "resetPassword",
    surfaces: ["public"],
    body: passwordResetInput,
    status: 200,
    errors: [],
    handle: (call, { body }) => resetPassword(call, body),
    precheck: (call, { body }) => precheckPasswordReset(call, pickValidFields(passwordResetInput, body)),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/email",
    operationId: "changeEmail",
    surfaces: ["session"],
    body: emailChangeInput,
    status: 202,
    errors: ["no_changes_requested", "current_password_invalid", "email_already_in_use"],
    handle: (call, { body }) => requestEmailChange(call, body),
  }),
];
