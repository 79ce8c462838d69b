// The three texts that an agent signs, and their verification (PRF-2 to PRF-5). The order of the checks: every part must have its exact form (so
// that no part can contain the separator `|`), the timestamp must be within 30 seconds, and last the signature over the header's own characters. The
// caller decides whether the signer may do what it asks, and whether the proof was used before; `r` and `text` identify a replay.
import type { CryptoKey } from "jose";
import { computeSha256, encodeHex, encodeUtf8 } from "../core/encoding.ts";
import { PROOF_WINDOW_SECONDS, SECOND_MS } from "../core/limits.ts";
import { isDid } from "./did.ts";
import { type SignatureFault, type SignatureFormat, signToText, verifySignature } from "./ecdsa.ts";
import type { PublicJwk } from "./jwks.ts";

/** Agent to agent, or agent to service under the service's own DID: `timestamp|caller_did|callee_did`. */
export type BoundStatement = {
  readonly kind: "bound";
  readonly timestamp: string;
  readonly callerDid: string;
  readonly calleeDid: string;
};

/** Answer to a challenge: `nonce|agent_did|timestamp`. */
export type ChallengeStatement = {
  readonly kind: "challenge";
  readonly timestamp: string;
  readonly nonce: string;
  readonly agentDid: string;
};

/** Agent to service, over the whole call: `aeap-req:v1|timestamp|agent_did|METHOD|path|digest`. */
export type RequestStatement = {
  readonly kind: "request";
  readonly timestamp: string;
  readonly agentDid: string;
  /** Upper-case method name. */
  readonly method: string;
  /** As on the wire: from the first `/`, without host, query and fragment. */
  readonly path: string;
  /** The result of `digestRequest`: 64 lower-case hex digits. */
  readonly digest: string;
};

/** The statement of a proof. `timestamp` is the header's own text: epoch seconds, or ISO 8601. */
export type ProofStatement = BoundStatement | ChallengeStatement | RequestStatement;

/** Why a statement cannot be written as a text. */
export type StatementFault =
  | "timestamp_malformed"
  | "did_malformed"
  | "nonce_malformed"
  | "method_malformed"
  | "path_malformed"
  | "digest_malformed";

/** Why a proof is not accepted, for the log: the API has fewer codes. */
export type ProofFault = StatementFault | "timestamp_too_old" | "timestamp_in_future" | SignatureFault;

export type StatementText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: StatementFault };

/** `r`: the signature's first number, 64 hex digits. `signedAt`: the timestamp in epoch milliseconds. */
export type ProofCheck =
  | { readonly ok: true; readonly r: string; readonly text: string; readonly signedAt: number }
  | { readonly ok: false; readonly reason: ProofFault };

/** `query_ambiguous`: a decoded key contains `&` or `=`, or a value contains `&`, so that two queries would share one digest. */
export type RequestDigest =
  | { readonly ok: true; readonly digest: string }
  | { readonly ok: false; readonly reason: "query_ambiguous" };

/** A call as received, or before it is sent. For GET and HEAD only the query is used, for every other method only the body. */
export type DigestedRequest = {
  readonly method: string;
  /** The wire query with or without `?`, or its decoded pairs. */
  readonly query?: string | Iterable<readonly [string, string]>;
  /** The raw bytes exactly as sent; a string means its UTF-8. */
  readonly body?: Uint8Array | ArrayBuffer | string;
};

/** How far a timestamp may be from the recipient's clock, in seconds in each direction. */
export type ProofWindow = { readonly before: number; readonly after: number };

const WINDOW: ProofWindow = { before: PROOF_WINDOW_SECONDS, after: PROOF_WINDOW_SECONDS };
const REQUEST_PREFIX = "aeap-req:v1";

// None of these accepts `|`.
const NONCE = /^[\x21-\x7b\x7d\x7e]{16,256}$/;
const METHOD = /^[A-Z]{3,16}$/;
const PATH = /^\/[\x21\x22\x24-\x3e\x40-\x7b\x7d\x7e]{0,2047}$/;
const DIGEST = /^[0-9a-f]{64}$/;
const EPOCH_SECONDS = /^(?:0|[1-9][0-9]{0,11})$/;
const ISO_8601 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** The text of a statement, or why it has none. Pure; checks the form of the timestamp, not its window. */
export function buildProofText(statement: ProofStatement): StatementText {
  if (parseProofTimestamp(statement.timestamp) === undefined) return refuse("timestamp_malformed");
  switch (statement.kind) {
    case "bound": {
      const { timestamp, callerDid, calleeDid } = statement;
      if (!isDid(callerDid) || !isDid(calleeDid)) return refuse("did_malformed");
      return { ok: true, text: `${timestamp}|${callerDid}|${calleeDid}` };
    }
    case "challenge": {
      const { timestamp, nonce, agentDid } = statement;
      if (!NONCE.test(nonce)) return refuse("nonce_malformed");
      if (!isDid(agentDid)) return refuse("did_malformed");
      return { ok: true, text: `${nonce}|${agentDid}|${timestamp}` };
    }
    case "request": {
      const { timestamp, agentDid, method, path, digest } = statement;
      if (!isDid(agentDid)) return refuse("did_malformed");
      if (!METHOD.test(method)) return refuse("method_malformed");
      if (!PATH.test(path)) return refuse("path_malformed");
      if (!DIGEST.test(digest)) return refuse("digest_malformed");
      return { ok: true, text: `${REQUEST_PREFIX}|${timestamp}|${agentDid}|${method}|${path}|${digest}` };
    }
  }
}

/**
 * The digest of a request-bound proof, SHA-256 in lower-case hex: for GET and HEAD over the decoded pairs `k=v`, sorted by key and joined with `&`
 * (pairs with one key keep their order; no query is the empty text), for other methods over the raw body. `+` in a query is a space. Keys sort by
 * UTF-16 code units.
 */
export async function digestRequest(request: DigestedRequest): Promise<RequestDigest> {
  if (request.method !== "GET" && request.method !== "HEAD")
    return { ok: true, digest: encodeHex(await computeSha256(toBodyBytes(request.body))) };
  const { query = "" } = request;
  const pairs = [...(typeof query === "string" ? new URLSearchParams(query) : query)];
  if (pairs.some(([key, value]) => /[&=]/.test(key) || value.includes("&"))) {
    return { ok: false, reason: "query_ambiguous" };
  }
  pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const canonical = pairs.map(([key, value]) => `${key}=${value}`).join("&");
  return { ok: true, digest: encodeHex(await computeSha256(encodeUtf8(canonical))) };
}

/** The header value of an instant, in epoch seconds. `now` is epoch milliseconds. */
export function formatProofTimestamp(now: number): string {
  return String(Math.floor(now / SECOND_MS));
}

/**
 * Signs a statement.
 *
 * @param format the form of the signature; every client reads DER in base64
 * @returns the value of `AEAP-Proof` and the text that was signed
 * @throws TypeError naming the fault of a malformed statement
 */
export async function signProof(
  statement: ProofStatement,
  privateKey: CryptoKey,
  format: SignatureFormat = "der-base64",
): Promise<{ proof: string; text: string }> {
  const stated = buildProofText(statement);
  if (!stated.ok) throw new TypeError(stated.reason);
  return { proof: await signToText(privateKey, stated.text, format), text: stated.text };
}

/**
 * Verifies a proof over the exact strings of its headers.
 *
 * @param input.statement the expected statement, with the header's own text as its timestamp
 * @param input.proof the header `AEAP-Proof`: DER or raw r‖s, base64 or base64url
 * @param input.key the key of the verified certificate (`agentKey`); a JWK has to be imported first
 * @param input.now epoch milliseconds
 * @param input.windowSeconds how far the timestamp may be from `now`, inclusive; 30 s in each direction by default
 */
export async function verifyProof(input: {
  readonly statement: ProofStatement;
  readonly proof: string;
  readonly key: CryptoKey | PublicJwk;
  readonly now: number;
  readonly windowSeconds?: ProofWindow;
}): Promise<ProofCheck> {
  const { statement, proof, key, now, windowSeconds: { before, after } = WINDOW } = input;
  const stated = buildProofText(statement);
  if (!stated.ok) return stated;
  const signedAt = parseProofTimestamp(statement.timestamp);
  if (signedAt === undefined) return { ok: false, reason: "timestamp_malformed" };
  if (signedAt < now - before * SECOND_MS) return { ok: false, reason: "timestamp_too_old" };
  if (signedAt > now + after * SECOND_MS) return { ok: false, reason: "timestamp_in_future" };
  const signature = await verifySignature(key, stated.text, proof);
  return signature.ok ? { ok: true, r: signature.r, text: stated.text, signedAt } : signature;
}

/**
 * The instant of a timestamp header in epoch milliseconds; undefined if it is none.
 * Accepts epoch seconds as digits, and `YYYY-MM-DDTHH:MM:SS` with an optional fraction, then `Z` or `±HH:MM`.
 * A date that does not exist is refused.
 */
export function parseProofTimestamp(text: string): number | undefined {
  if (EPOCH_SECONDS.test(text)) return Number(text) * SECOND_MS;
  const match = ISO_8601.exec(text);
  if (match === null) return undefined;
  const [, fraction, sign, offsetHours, offsetMinutes] = match;
  const local = new Date(`${text.slice(0, 19)}Z`);
  // JavaScript turns 30 February and 24:00 into the next day: a date exists only if it reads back unchanged.
  if (Number.isNaN(local.getTime()) || local.toISOString().slice(0, 19) !== text.slice(0, 19)) return undefined;
  if (Number(offsetHours ?? 0) > 23 || Number(offsetMinutes ?? 0) > 59) return undefined;
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * 60 * SECOND_MS;
  const milliseconds = Number((fraction ?? "").padEnd(3, "0").slice(0, 3));
  return local.getTime() + milliseconds - (sign === "-" ? -offset : offset);
}

const refuse = (reason: StatementFault) => ({ ok: false, reason }) as const;

function toBodyBytes(body: DigestedRequest["body"]): Uint8Array | ArrayBuffer {
  return typeof body === "string" ? encodeUtf8(body) : (body ?? new Uint8Array());
}
