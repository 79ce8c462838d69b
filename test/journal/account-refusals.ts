// Refused calls of each operation on the platform account, for test/journal/refusals.test.ts.
import { drawSessionToken } from "../../src/accounts/links.ts";
import { bearer, PASSWORD, post } from "../accounts/support.ts";
import { operator } from "../consequences/plays/stage.ts";
import { documentParts, formBytes, formHeaders, pdf } from "../support/form.ts";
import type { Reply, World } from "../support/world.ts";

/** The reason, the code, and the call. */
export type Refusal = readonly [why: string, code: string, act: () => Promise<Reply>];

/** `at` returns its values once the tests run. */
export function accountRefusals(at: () => World): Readonly<Record<string, readonly Refusal[]>> {
  const nobody = (path: string, body: unknown) => () => post(at(), path, body);
  const person = (method: string, path: string, body?: unknown) => () =>
    at().person(method, path, { ...(body !== undefined && { body }) });
  const operating =
    (act: string, body: unknown, id = () => at().platformId) =>
    () =>
      at().call("POST", `/v1/operator/platforms/${id()}/${act}`, { ...operator(), body });
  const none = () => "plt_none";
  const ofSeed = () => `ops-${at().platformId}@platform.test`;
  return {
    registerPlatform: [
      [
        "an address with an account",
        "email_exists",
        () => nobody("/v1/platform/register", { email: ofSeed(), password: PASSWORD })(),
      ],
      [
        "a short password",
        "validation_failed",
        nobody("/v1/platform/register", { email: "a@b.example", password: "x" }),
      ],
    ],
    verifyEmail: [
      ["an unknown link", "validation_failed", nobody("/v1/platform/verify-email", { token: "x".repeat(43) })],
    ],
    refuseVerification: [
      ["an unknown link", "validation_failed", nobody("/v1/platform/verify-email/refuse", { token: "x".repeat(43) })],
    ],
    resendVerification: [
      ["an invalid address", "validation_failed", nobody("/v1/platform/verify-email/resend", { email: "x" })],
    ],
    logIn: [
      [
        "a wrong password",
        "invalid_credentials",
        () => nobody("/v1/platform/sessions", { email: ofSeed(), password: "x" })(),
      ],
    ],
    logOut: [
      [
        "an unknown session",
        "invalid_credentials",
        async () => {
          const headers = bearer((await drawSessionToken()).token);
          return at().call("DELETE", "/v1/platform/sessions/current", { key: null, headers });
        },
      ],
    ],
    endSession: [["an unknown session", "not_found", person("DELETE", "/v1/platform/sessions/ses_none")]],
    endOtherSessions: [["no parameter", "validation_failed", person("DELETE", "/v1/platform/sessions")]],
    confirmSession: [
      ["an empty body", "validation_failed", person("POST", "/v1/platform/sessions/current/confirm", {})],
    ],
    setUpTotp: [
      [
        "an account without a password",
        "invalid_credentials",
        person("POST", "/v1/platform/totp", { current_password: "x" }),
      ],
    ],
    confirmTotp: [["no TOTP", "invalid_credentials", person("POST", "/v1/platform/totp/confirm", { code: "x" })]],
    removeTotp: [["no code", "validation_failed", person("DELETE", "/v1/platform/totp", { current_password: "x" })]],
    removePlatformTotp: [["an account without TOTP", "invalid_status", operating("totp/remove", { reason: "x" })]],
    changePassword: [
      [
        "a wrong current password",
        "current_password_invalid",
        person("POST", "/v1/platform/password", { current_password: "x", new_password: PASSWORD }),
      ],
    ],
    forgotPassword: [["bad address", "validation_failed", nobody("/v1/platform/password/forgot", { email: "x" })]],
    resetPassword: [
      [
        "an unknown link",
        "validation_failed",
        nobody("/v1/platform/password/reset", { token: "x".repeat(43), new_password: PASSWORD }),
      ],
    ],
    changeEmail: [
      [
        "a wrong current password",
        "current_password_invalid",
        person("POST", "/v1/platform/email", { new_email: "new@b.example", current_password: "x" }),
      ],
    ],
    promotePlatform: [["a promoted account", "already_promoted", () => at().call("POST", "/v1/platform/promote")]],
    rotateKey: [
      [
        "another environment's key",
        "forbidden",
        () => at().call("POST", "/v1/platform/keys/rotate", { body: { environment: "production" } }),
      ],
    ],
    advanceSandboxClock: [
      [
        "zero seconds",
        "validation_failed",
        () => at().call("POST", "/v1/sandbox/clock/advance", { body: { seconds: 0 } }),
      ],
      [
        "an instant that has passed",
        "validation_failed",
        () => at().call("POST", "/v1/sandbox/clock/advance", { body: { to: "2020-01-01T00:00:00Z" } }),
      ],
      [
        "a production key",
        "forbidden",
        () => at().call("POST", "/v1/sandbox/clock/advance", { key: at().liveKey, body: { seconds: 1 } }),
      ],
    ],
    submitDocument: [
      [
        "an unknown type",
        "document_type_invalid",
        () =>
          at().person("POST", "/v1/platform/documents", {
            rawBody: formBytes(documentParts("passport", pdf(100))),
            headers: formHeaders(),
          }),
      ],
    ],
    submitVerification: [
      ["an accredited account", "verification_already_accredited", person("POST", "/v1/platform/verification")],
    ],
    closePlatform: [
      [
        "a wrong confirmation",
        "confirmation_mismatch",
        person("POST", "/v1/platform/close", { confirmation: "x", current_password: "x" }),
      ],
    ],
    decideVerification: [
      [
        "an account that is not in review",
        "invalid_status",
        operating("decision", { decision: "approve", reason: "Good." }),
      ],
      ["an unknown account", "not_found", operating("decision", { decision: "approve" }, none)],
    ],
    renewTenantAttestation: [["an unknown account", "not_found", operating("attestation", {}, none)]],
    suspendPlatform: [["an unknown account", "not_found", operating("suspend", { reason: "x" }, none)]],
    reinstatePlatform: [["an ACTIVE account", "invalid_status", operating("reinstate", { reason: "x" })]],
    announceToAll: [
      [
        "an unknown kind",
        "validation_failed",
        () =>
          at().call("POST", "/v1/operator/notices", { ...operator(), body: { kind: "x", subject: "x", text: "x" } }),
      ],
    ],
    registerVerifier: [
      [
        "a Verifier without keys",
        "validation_failed",
        () => at().call("POST", "/v1/operator/verifiers", { ...operator(), body: { name: "Acme" } }),
      ],
    ],
    patchVerifier: [
      [
        "an unknown Verifier",
        "not_found",
        () => at().call("PATCH", "/v1/operator/verifiers/ver_none", { ...operator(), body: { name: "Acme" } }),
      ],
    ],
    readPlatformDocument: [
      [
        "an unknown document",
        "not_found",
        () => at().call("GET", `/v1/operator/platforms/${at().platformId}/documents/doc_none`, operator()),
      ],
    ],
  };
}
