// The cookie of a session (CRED-15), for browsers. The prefix makes them refuse a cookie of another host or path, or without Secure.
const COOKIE = "__Host-session";
const ATTRIBUTES = "Path=/; HttpOnly; Secure; SameSite=Lax";

export const formatSessionCookie = (token: string, expiresAt: string): string =>
  `${COOKIE}=${token}; Expires=${new Date(expiresAt).toUTCString()}; ${ATTRIBUTES}`;

export const NO_COOKIE = `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`;
