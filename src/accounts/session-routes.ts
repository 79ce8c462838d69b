// Routes of the person who owns an account: sign-up, sessions, password, address and TOTP.
import { answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";
import {
  changePassword,
  forgotPassword,
  precheckPasswordChange,
  precheckPasswordReset,
  resetPassword,
} from "./change-password.ts";
import { requestEmailChange } from "./contact.ts";
import { findNamedAccount } from "./decide.ts";
import {
  accountStatusParams,
  addressInput,
  confirmationInput,
  emailChangeInput,
  findConfirmationFaults,
  logInInput,
  othersQuery,
  passwordChangeInput,
  passwordResetInput,
  registrationInput,
  sessionParams,
  sessionsQuery,
  statusReasonInput,
  tokenInput,
  totpConfirmation,
  totpRemoval,
  totpSetUp,
  verificationInput,
} from "./schema.ts";
import {
  confirmPerson,
  endOtherSessions,
  endSession,
  findNamedSession,
  formatSessionCookie,
  getSessions,
  logIn,
  logOut,
  NO_COOKIE,
} from "./sessions.ts";
import {
  precheckSignUp,
  refuseLink,
  registerPlatform,
  resendVerification,
  toLinkKeyOwner,
  toSignUpKeyOwner,
  verifyEmail,
} from "./sign-up.ts";
import { confirmTotp, removeTotp, removeTotpOf, setUpTotp } from "./totp.ts";

// ---- Sign-up (ACC-10) ----------------------------------------------------------------------------------------------------

export const signUpRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/register",
    operationId: "registerPlatform",
    surfaces: ["public"],
    body: registrationInput,
    status: 201,
    errors: ["email_exists"],
    idempotency: "plain",
    keysOf: toSignUpKeyOwner,
    handle: (call, { body }) => registerPlatform(call, body),
    precheck: (call, { body }) => precheckSignUp(call, pickValidFields(registrationInput, body)),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/verify-email",
    operationId: "verifyEmail",
    surfaces: ["public"],
    body: verificationInput,
    status: 200,
    errors: ["email_already_in_use", "account_suspended", "current_password_invalid"],
    idempotency: "secret",
    keysOf: toLinkKeyOwner,
    handle: (call, { body }) => verifyEmail(call, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/verify-email/refuse",
    operationId: "refuseVerification",
    surfaces: ["public"],
    body: tokenInput,
    status: 204,
    errors: [],
    handle: (call, { body }) => refuseLink(call, body),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/verify-email/resend",
    neverBusy: true,
    operationId: "resendVerification",
    surfaces: ["public"],
    body: addressInput,
    status: 202,
    errors: [],
    handle: (call, { body }) => resendVerification(call, body),
  }),
];

// ---- Sessions (CRED-13, CRED-27, CRED-30) --------------------------------------------------------------------------------

/** Makes the browser forget an ended session. */
const LOGGED_OUT = answer(204, { "Set-Cookie": NO_COOKIE }, null);

export const sessionRoutes = [
  defineRoute({
    method: "post",
    path: "/v1/platform/sessions",
    operationId: "logIn",
    surfaces: ["public"],
    body: logInInput,
    status: 201,
    errors: ["invalid_credentials", "email_not_verified", "account_suspended"],
    handle: async (call, { body }) => {
      const session = await logIn(call, body);
      const cookie = formatSessionCookie(session.session_token, session.expires_at);
      return answer(201, { "Content-Type": "application/json", "Set-Cookie": cookie }, JSON.stringify(session));
    },
  }),
  defineRoute({
    method: "get",
    path: "/v1/platform/sessions",
    operationId: "listSessions",
    surfaces: ["session"],
    query: sessionsQuery,
    status: 200,
    errors: [],
    handle: (call, { query }) => getSessions(call, query),
  }),
  defineRoute({
    method: "delete",
    path: "/v1/platform/sessions",
    operationId: "endOtherSessions",
    surfaces: ["session"],
    unpromoted: true,
    query: othersQuery,
    status: 204,
    errors: [],
    handle: (call) => endOtherSessions(call),
  }),
  defineRoute({
    method: "delete",
    path: "/v1/platform/sessions/current",
    operationId: "logOut",
    surfaces: ["session"],
    unpromoted: true,
    status: 204,
    errors: [],
    handle: async (call) => {
      await logOut(call);
      return LOGGED_OUT;
    },
  }),
  defineRoute({
    method: "delete",
    path: "/v1/platform/sessions/{session_id}",
    operationId: "endSession",
    surfaces: ["session"],
    unpromoted: true,
    params: sessionParams,
    status: 204,
    errors: ["not_found"],
    object: findNamedSession,
    handle: async (call, { params }) => ((await endSession(call, params.session_id)).isCurrent ? LOGGED_OUT : null),
  }),
  defineRoute({
    method: "post",
    path: "/v1/platform/sessions/current/confirm",
    operationId: "confirmSession",
    surfaces: ["session"],
    whenUsedUp: true,
    unpromoted: true,
    body: confirmationInput,
    rules: findConfirmationFaults,
    status: 200,
    errors: ["current_password_invalid"],
    handle: (call, { body }) => confirmPerson(call, body),
  }),
];

// ---- Password and address (CRED-22, CRED-23, ACC-13) ---------------------------------------------------------------------

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

// ---- TOTP (CRED-28) ------------------------------------------------------------------------------------------------------

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
