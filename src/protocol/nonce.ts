// The nonce of the handshake, valid for 120 seconds (PRF-13). Stateless: 6 bytes of time, 10 random bytes and an HMAC-SHA-256 over both, so that
// issuing one stores nothing. The caller has to remember used nonces.
import type { CryptoKey } from "jose";
import { type Bytes, decodeBase64Url, encodeBase64Url, encodeUtf8 } from "../core/encoding.ts";
import { CHALLENGE_NONCE_SECONDS, PROOF_WINDOW_SECONDS, SECOND_MS } from "../core/limits.ts";

/** Why a nonce is not accepted. */
export type NonceFault = "nonce_malformed" | "nonce_forged" | "nonce_expired" | "nonce_from_future";

/** Instants in epoch milliseconds. From `expiresAt` on, the nonce is invalid. */
export type NonceCheck =
  | { readonly ok: true; readonly issuedAt: number; readonly expiresAt: number }
  | { readonly ok: false; readonly reason: NonceFault };

const TIME_BYTES = 6;
const RANDOM_BYTES = 10;
const MAC_BYTES = 32;
const SECRET_BYTES_MIN = 32;
const LIFE_MS = CHALLENGE_NONCE_SECONDS * SECOND_MS;
// The clocks of two machines of one service may differ a little.
const SKEW_MS = PROOF_WINDOW_SECONDS * SECOND_MS;

/**
 * The MAC key of a secret; import once.
 * @throws RangeError if the secret has fewer than 32 bytes
 */
export async function importNonceKey(secret: Uint8Array): Promise<CryptoKey> {
  if (secret.length < SECRET_BYTES_MIN) throw new RangeError("a nonce secret has at least 32 bytes");
  return crypto.subtle.importKey("raw", secret as Bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

/**
 * A new nonce: 64 characters of base64url, and therefore without `|`.
 *
 * @param now epoch milliseconds
 * @param binding the nonce's purpose, such as a DID; the check needs the same text. It cannot be read from the nonce
 */
export async function issueNonce(key: CryptoKey, now: number, binding = ""): Promise<string> {
  const stated = new Uint8Array(TIME_BYTES + RANDOM_BYTES);
  crypto.getRandomValues(stated.subarray(TIME_BYTES));
  writeTime(stated, Math.floor(now));
  const mac = new Uint8Array(await crypto.subtle.sign("HMAC", key, buildMacInput(stated, binding)));
  return encodeBase64Url(Uint8Array.from([...stated, ...mac]));
}

/**
 * Checks a nonce: its form, then its MAC (in constant time), and only then its time.
 *
 * @param now epoch milliseconds
 * @param binding as at issue
 */
export async function checkNonce(key: CryptoKey, nonce: string, now: number, binding = ""): Promise<NonceCheck> {
  const bytes = nonce.length > 64 ? undefined : decodeBase64Url(nonce);
  if (bytes?.length !== TIME_BYTES + RANDOM_BYTES + MAC_BYTES) return { ok: false, reason: "nonce_malformed" };
  const stated = bytes.slice(0, TIME_BYTES + RANDOM_BYTES);
  const mac = bytes.slice(TIME_BYTES + RANDOM_BYTES);
  if (!(await crypto.subtle.verify("HMAC", key, mac, buildMacInput(stated, binding)))) {
    return { ok: false, reason: "nonce_forged" };
  }
  const issuedAt = readTime(stated);
  if (now >= issuedAt + LIFE_MS) return { ok: false, reason: "nonce_expired" };
  if (now < issuedAt - SKEW_MS) return { ok: false, reason: "nonce_from_future" };
  return { ok: true, issuedAt, expiresAt: issuedAt + LIFE_MS };
}

// Because of the prefix, a MAC made for another purpose with the same secret is no valid nonce.
function buildMacInput(stated: Uint8Array, binding: string): Bytes {
  return Uint8Array.from([...encodeUtf8("aeap-nonce:v1|"), ...stated, ...encodeUtf8(binding)]);
}

function writeTime(stated: Bytes, ms: number): void {
  const view = new DataView(stated.buffer);
  view.setUint16(0, Math.floor(ms / 2 ** 32));
  view.setUint32(2, ms % 2 ** 32);
}

function readTime(stated: Bytes): number {
  const view = new DataView(stated.buffer);
  return view.getUint16(0) * 2 ** 32 + view.getUint32(2);
}
