// Routes of sessions (CRED-13, CRED-27, CRED-30).
import { answer } from "../http/answer.ts";
import { defineRoute } from "../http/route.ts";
import { confirmPerson } from "./confirmation.ts";
import { logIn } from "./log-in.ts";
import { formatSessionCookie, NO_COOKIE } from "./session-cookie.ts";
import {
  confirmationInput,
  findConfirmationFaults,
  logInInput,
  othersQuery,
  sessionParams,
  sessionsQuery,
} from "./session-schema.ts";
import { endOtherSessions, endSession, findNamedSession, getSessions, logOut } from "./sessions.ts";

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
