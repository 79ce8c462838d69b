// Routes of sessions (CRED-13).
import { answer } from "../http/answer.ts";
import { route } from "../http/route.ts";
import { logIn, logOut } from "./log-in.ts";
import { NO_COOKIE, sessionCookie } from "./session-cookie.ts";
import { logInInput, sessionView } from "./session-schema.ts";

export const sessionRoutes = [
  route({
    method: "post",
    path: "/v1/platform/sessions",
    operationId: "logIn",
    tag: "Platform",
    summary: "Log in",
    description:
      "A session may do what a management key may, and is the one credential of the account's own routes. The token is also set " +
      "as a cookie, for browsers. It ends after 12 hours without use, and after 30 days.",
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
    method: "delete",
    path: "/v1/platform/sessions/current",
    operationId: "logOut",
    tag: "Platform",
    summary: "Log out",
    surfaces: ["session"],
    unpromoted: true,
    status: 204,
    response: { schema: sessionView, description: "The session has ended." },
    errors: [],
    handle: async (call) => {
      await logOut(call);
      return answer(204, { "Set-Cookie": NO_COOKIE }, null);
    },
  }),
];
