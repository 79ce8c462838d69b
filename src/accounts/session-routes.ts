// Routes of sessions (CRED-13, CRED-27, CRED-30).
import * as z from "zod";
import { answer } from "../http/answer.ts";
import { route } from "../http/route.ts";
import { confirmPerson } from "./confirmation.ts";
import { logIn } from "./log-in.ts";
import { NO_COOKIE, sessionCookie } from "./session-cookie.ts";
import {
  confirmationFaults,
  confirmationInput,
  confirmationView,
  logInInput,
  othersQuery,
  sessionList,
  sessionParams,
  sessionsQuery,
  sessionView,
} from "./session-schema.ts";
import { endOtherSessions, endSession, getSessions, logOut, precheckSession } from "./sessions.ts";

/** The browser forgets a session that has ended. */
const LOGGED_OUT = answer(204, { "Set-Cookie": NO_COOKIE }, null);

export const sessionRoutes = [
  route({
    method: "post",
    path: "/v1/platform/sessions",
    operationId: "logIn",
    tag: "Platform",
    summary: "Log in",
    description:
      "A session may do what a management key may, and is the one credential of the account's own routes. The token is also set " +
      "as a cookie, for browsers. It ends after 12 hours without use, and after 30 days. With TOTP set up, a log-in with the right password and " +
      "without a code is refused with `type` `totp_required`, with a wrong code with `totp_invalid`. After 100 failures within 24 hours, from " +
      "wherever, an address is open only to the networks from which it was logged in to within 90 days.",
    surfaces: ["public"],
    body: logInInput,
    status: 201,
    response: { schema: sessionView, description: "The session; its token is shown once." },
    errors: ["invalid_credentials", "email_not_verified", "account_suspended"],
    handle: async (call, { body }) => {
      const session = await logIn(call, body);
      const cookie = sessionCookie(session.session_token, session.expires_at);
      return answer(201, { "Content-Type": "application/json", "Set-Cookie": cookie }, JSON.stringify(session));
    },
  }),
  route({
    method: "get",
    path: "/v1/platform/sessions",
    operationId: "listSessions",
    tag: "Platform",
    summary: "List the sessions",
    description: "Those that go on, the latest log-in first.",
    surfaces: ["session"],
    query: sessionsQuery,
    status: 200,
    response: { schema: sessionList, description: "A page of sessions." },
    errors: [],
    handle: (call, { query }) => getSessions(call, query),
  }),
  route({
    method: "delete",
    path: "/v1/platform/sessions",
    operationId: "endOtherSessions",
    tag: "Platform",
    summary: "End the other sessions",
    description: "All but the calling one.",
    surfaces: ["session"],
    unpromoted: true,
    query: othersQuery,
    status: 204,
    response: { schema: z.null(), description: "The other sessions have ended." },
    errors: [],
    handle: (call) => endOtherSessions(call),
  }),
  route({
    method: "delete",
    path: "/v1/platform/sessions/current",
    operationId: "logOut",
    tag: "Platform",
    summary: "Log out",
    surfaces: ["session"],
    unpromoted: true,
    status: 204,
    response: { schema: z.null(), description: "The session has ended." },
    errors: [],
    handle: async (call) => {
      await logOut(call);
      return LOGGED_OUT;
    },
  }),
  route({
    method: "delete",
    path: "/v1/platform/sessions/{session_id}",
    operationId: "endSession",
    tag: "Platform",
    summary: "End a session",
    surfaces: ["session"],
    unpromoted: true,
    params: sessionParams,
    status: 204,
    response: { schema: z.null(), description: "The session has ended." },
    errors: ["not_found"],
    handle: async (call, { params }) => ((await endSession(call, params.session_id)).isCurrent ? LOGGED_OUT : null),
    precheck: (call, { params }) => precheckSession(call, params.session_id),
  }),
  route({
    method: "post",
    path: "/v1/platform/sessions/current/confirm",
    operationId: "confirmSession",
    tag: "Platform",
    summary: "Confirm that it is you",
    description:
      "For ten minutes the session rotates keys, promotes, and changes what else guards the account; those calls refuse it otherwise, with " +
      "`type` `confirmation_required`. With TOTP set up only `totp` counts. A failure counts as a failed log-in.",
    surfaces: ["session"],
    whenUsedUp: true,
    unpromoted: true,
    body: confirmationInput,
    rules: confirmationFaults,
    status: 200,
    response: { schema: confirmationView, description: "Until when the session counts as confirmed." },
    errors: ["current_password_invalid"],
    handle: (call, { body }) => confirmPerson(call, body),
  }),
];
