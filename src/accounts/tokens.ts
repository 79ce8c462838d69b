// Tokens that only their holder knows, for sessions and mailed links (CRED-13, ACC-10): 32 random bytes, stored as SHA-256 only.
import { computeSha256Hex, encodeBase64Url } from "../core/encoding.ts";

/** The `WWW-Authenticate` challenge of routes that take or start a session (RFC 9110, 11.6.1). */
export const SESSION_CHALLENGE = 'Bearer realm="dashboard"';

const BYTES = 32;
const SESSION_PREFIX = "ses_";
const SESSION_PATTERN = /^ses_[A-Za-z0-9_-]{43}$/;

export type NewToken = { readonly token: string; readonly tokenHash: string };

const drawSecret = (): string => encodeBase64Url(crypto.getRandomValues(new Uint8Array(BYTES)));

async function hashToken(token: string): Promise<NewToken> {
  return { token, tokenHash: await computeSha256Hex(token) };
}

export const drawSessionToken = (): Promise<NewToken> => hashToken(SESSION_PREFIX + drawSecret());
export const drawLinkToken = (): Promise<NewToken> => hashToken(drawSecret());

/** Judges only the form. */
export const isSessionToken = (text: string): boolean => SESSION_PATTERN.test(text);
/** Distinguishes a session's token, even a mistyped one, from other bearer tokens. */
export const looksLikeSessionToken = (text: string): boolean => text.startsWith(SESSION_PREFIX);
