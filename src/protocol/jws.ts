// Compact JWS (RFC 7515) by a published key: the common part of certificates, identity documents and receipts. The order of the checks: form,
// header (an allowed `alg`, by default only ES256, and exactly one `typ`), key by `kid` from the caller's set, signature, and only then the payload.
// A key, URL or chain in the header is refused, never used (RFC 8725, 3.1 and 3.5).
import { CompactSign, compactVerify } from "jose";
import { decodeBase64Url, decodeUtf8, encodeBase64Url, encodeUtf8 } from "../core/encoding.ts";
import { SECOND_MS } from "../core/limits.ts";
import { findKey, type KeySource, type SigningKey } from "./jwks.ts";

/** Why a JWS is not accepted. */
export type JwsFault =
  | "malformed" // not three segments of strict base64url, too long, or a header that is not a JSON object
  | "algorithm_not_allowed" // any `alg` except the allowed ones
  | "type_not_allowed" // another `typ` than the expected one
  | "header_not_allowed" // `crit`, `b64`, or a key or a reference to a key in the header
  | "key_id_missing"
  | "key_unknown" // no signing key with this `kid` in the set
  | "signature_invalid"
  | "payload_malformed"; // the payload is not a UTF-8 JSON object

export type JwsCheck =
  | { readonly ok: true; readonly kid: string; readonly payloadText: string; readonly payload: JsonObject }
  | { readonly ok: false; readonly reason: JwsFault };

/** A JSON object whose members have not been checked yet. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The signature algorithms that a caller may allow. */
export type JwsAlgorithm = "ES256" | "EdDSA";

const LENGTH_MAX = 256 * 1024;
const HEADER_REFUSED = ["crit", "b64", "jwk", "jku", "x5u", "x5c"] as const;

/**
 * Signs bytes as a compact JWS with the header `{alg: "ES256", typ, kid}`.
 * @throws if the key cannot sign ES256
 */
export async function signJws(payload: Uint8Array, typ: string, key: SigningKey): Promise<string> {
  return new CompactSign(payload).setProtectedHeader(buildJwsHeader(typ, key.kid)).sign(key.privateKey);
}

const buildJwsHeader = (typ: string, kid: string) => ({ alg: "ES256", typ, kid });

/**
 * A JWS by `signJws` over a text, packed to three quarters of its length: `kid.signature.text`.
 * @throws TypeError if it is not of this type, or not made by `signJws`
 */
export function packJws(jws: string, typ: string): string {
  const { kid } = readHeader(jws) ?? {};
  const [, payload = "", signature] = jws.split(".");
  const packed = `${kid}.${signature}.${decodeUtf8(decodeBase64Url(payload) ?? new Uint8Array())}`;
  if (unpackJws(packed, typ) !== jws) throw new TypeError(`not a JWS of type ${typ} over a text`);
  return packed;
}

/** The compact form of a JWS that `packJws` has packed. */
export function unpackJws(packed: string, typ: string): string {
  const [kid = "", signature = ""] = packed.split(".", 2);
  const payload = packed.slice(kid.length + signature.length + 2);
  return [encodeText(JSON.stringify(buildJwsHeader(typ, kid))), encodeText(payload), signature].join(".");
}

const encodeText = (text: string): string => encodeBase64Url(encodeUtf8(text));

/**
 * Verifies a compact JWS whose payload is a JSON object. Never throws on the content of `jws`; the rejection of a KeyResolver passes through, because
 * a set that cannot be fetched says nothing about the signature.
 */
export async function verifyJws(
  jws: unknown,
  typ: string,
  keys: KeySource,
  algorithms: readonly JwsAlgorithm[] = ["ES256"],
): Promise<JwsCheck> {
  const header = readHeader(jws);
  if (typeof jws !== "string" || header === undefined) return { ok: false, reason: "malformed" };
  const fault = judgeHeader(header, typ, algorithms);
  if (fault !== undefined) return { ok: false, reason: fault };
  const { kid } = header;
  if (typeof kid !== "string" || kid === "") return { ok: false, reason: "key_id_missing" };
  const key = await findKey(keys, kid);
  if (key === undefined) return { ok: false, reason: "key_unknown" };
  const verified = await compactVerify(jws, key, { algorithms: [...algorithms] }).catch(() => undefined);
  if (verified === undefined) return { ok: false, reason: "signature_invalid" };
  const payloadText = decodeUtf8(verified.payload);
  const payload = payloadText === undefined ? undefined : parseObject(payloadText);
  if (payloadText === undefined || payload === undefined) return { ok: false, reason: "payload_malformed" };
  return { ok: true, kid, payloadText, payload };
}

/**
 * The compact form without its payload: `header..signature` (RFC 7515, appendix F).
 * @throws TypeError if `jws` does not have three segments
 */
export function detachPayload(jws: string): string {
  const [header, , signature, more] = jws.split(".");
  if (header === undefined || signature === undefined || more !== undefined) throw new TypeError("not a compact JWS");
  return `${header}..${signature}`;
}

/** The compact form of a detached JWS with its payload in base64url; undefined if it is not detached. */
export function attachPayload(detached: string, payloadBase64Url: string): string | undefined {
  const [header, middle, signature, more] = detached.split(".");
  if (!header || middle !== "" || !signature || more !== undefined) return undefined;
  return `${header}.${payloadBase64Url}.${signature}`;
}

/** Whether an instant is at or after an `nbf`, which is optional (RFC 7519, 4.1.5). */
export const hasBegun = (nbf: unknown, now: number): boolean =>
  nbf === undefined || (typeof nbf === "number" && nbf * SECOND_MS <= now);

/** Parses a JSON text to an object; undefined if it is anything else. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** True for an object with members, neither null nor an array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readHeader(jws: unknown): JsonObject | undefined {
  if (typeof jws !== "string" || jws.length > LENGTH_MAX) return undefined;
  const [header, payload, signature, more] = jws.split(".");
  if (header === undefined || payload === undefined || signature === undefined || more !== undefined) return undefined;
  // Strict also for the signature's segment, where a lenient decoder would ignore the last four bits.
  if (decodeBase64Url(payload) === undefined || decodeBase64Url(signature) === undefined) return undefined;
  const bytes = decodeBase64Url(header);
  const text = bytes === undefined ? undefined : decodeUtf8(bytes);
  return text === undefined ? undefined : parseObject(text);
}

function judgeHeader(header: JsonObject, typ: string, algorithms: readonly JwsAlgorithm[]): JwsFault | undefined {
  if (!algorithms.some((allowed) => allowed === header["alg"])) return "algorithm_not_allowed";
  if (header["typ"] !== typ) return "type_not_allowed";
  if (HEADER_REFUSED.some((name) => Object.hasOwn(header, name))) return "header_not_allowed";
  return undefined;
}
