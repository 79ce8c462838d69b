// Routes of the sign-up (ACC-10).
import { defineRoute } from "../http/route.ts";
import { pickValidFields } from "../http/schemas.ts";

import { precheckSignUp, registerPlatform, toSignUpKeyOwner } from "./sign-up.ts";
import { addressInput, registrationInput, tokenInput, verificationInput } from "./sign-up-schema.ts";
import { refuseLink, resendVerification, toLinkKeyOwner, verifyEmail } from "./verify-email.ts";

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
