// ECDSA P-256 with SHA-256, the only signature of agents' proofs (PRF-5). Several forms are accepted (DER or raw r‖s; base64 or base64url; high s),
// each of them strictly; WebCrypto decides the rest. Nothing here throws on a caller's input: the result has a reason instead.
import { type CryptoKey, exportJWK, exportPKCS8, importPKCS8 } from "jose";
import { type Bytes, decodeBase64Any, encodeBase64, encodeBase64Url, encodeHex, encodeUtf8 } from "../core/encoding.ts";
import { importPublicJwk, type PublicJwk, parsePublicJwk } from "./jwks.ts";

/** The order n of P-256 (FIPS 186-5, SEC 2). r and s lie in [1, n-1]. */
export const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** Why a text is not a signature, or not one by this key over this message. */
export type SignatureFault =
  | "signature_encoding" // neither base64 nor base64url, or far too long
  | "signature_form" // neither 64 raw bytes nor strict DER
  | "signature_range" // r or s outside [1, n-1]
  | "key_invalid" // the public key is not a point of P-256
  | "signature_mismatch"; // well formed, but not by this key over this message

/** `r` is 64 lower-case hex digits. A signature and its mirror (n-s) share it, so it identifies a replay. */
export type SignatureCheck =
  | { readonly ok: true; readonly r: string }
  | { readonly ok: false; readonly reason: SignatureFault };

export type SignatureParse =
  | { readonly ok: true; readonly candidates: readonly Bytes[] }
  | { readonly ok: false; readonly reason: SignatureFault };

/** The written form of a signature; public clients write and read `der-base64`. */
export type SignatureFormat = "der-base64" | "raw-base64url";

const ALGORITHM = { name: "ECDSA", hash: "SHA-256" } as const;
const RAW_LENGTH = 64;
// 72 bytes of DER are 96 characters of base64. A slightly longer text is judged by its form: a signature of another curve, or not strict DER.
const TEXT_LENGTH_MAX = 200;

/**
 * Signs a text (as UTF-8) or bytes.
 * @returns raw r‖s, 64 bytes
 */
export async function sign(privateKey: CryptoKey, message: string | Uint8Array): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.sign(ALGORITHM, privateKey, toBytes(message)));
}

/** Signs, and writes the signature for a header: DER in padded base64 by default. */
export async function signToText(
  privateKey: CryptoKey,
  message: string | Uint8Array,
  format: SignatureFormat = "der-base64",
): Promise<string> {
  const raw = await sign(privateKey, message);
  return format === "der-base64" ? encodeBase64(encodeDer(raw)) : encodeBase64Url(raw);
}

/**
 * Verifies a signature as it came over the wire.
 *
 * @param key the signer's public key; a CryptoKey costs nothing, a JWK is imported (25 µs)
 * @param message the text (as UTF-8) or the bytes that were signed
 * @param signature base64 or base64url, padded or not, of DER or of raw r‖s
 */
export async function verifySignature(
  key: CryptoKey | PublicJwk,
  message: string | Uint8Array,
  signature: string,
): Promise<SignatureCheck> {
  const parsed = parseSignature(signature);
  if (!parsed.ok) return parsed;
  const cryptoKey = await toCryptoKey(key);
  if (cryptoKey === undefined) return { ok: false, reason: "key_invalid" };
  const bytes = toBytes(message);
  for (const raw of parsed.candidates) {
    if (await verifyRaw(cryptoKey, bytes, raw)) return { ok: true, r: encodeHex(raw.subarray(0, RAW_LENGTH / 2)) };
  }
  return { ok: false, reason: "signature_mismatch" };
}

/**
 * Decodes a signature's text into raw r‖s with both numbers in range.
 * @returns one candidate; two if 64 bytes are both raw and valid DER, which is rare: then only the key can decide
 */
export function parseSignature(text: string): SignatureParse {
  if (text.length > TEXT_LENGTH_MAX) return { ok: false, reason: "signature_encoding" };
  const bytes = decodeBase64Any(text);
  if (bytes === undefined) return { ok: false, reason: "signature_encoding" };
  const forms = [bytes.length === RAW_LENGTH ? bytes : undefined, decodeDer(bytes)].filter((raw) => raw !== undefined);
  if (forms.length === 0) return { ok: false, reason: "signature_form" };
  const candidates = forms.filter(isInRange);
  return candidates.length === 0 ? { ok: false, reason: "signature_range" } : { ok: true, candidates };
}

/**
 * Raw r‖s of a strict DER `SEQUENCE { r INTEGER, s INTEGER }`; undefined for every other encoding: long or indefinite
 * lengths, trailing bytes, negative numbers, needless leading zeros, more than 32 bytes. Zero is left to the range check.
 */
export function decodeDer(der: Uint8Array): Bytes | undefined {
  if (der[0] !== 0x30 || der[1] !== der.length - 2) return undefined;
  const raw = new Uint8Array(RAW_LENGTH);
  let at = 2;
  for (const end of [RAW_LENGTH / 2, RAW_LENGTH]) {
    const length = der[at + 1];
    if (der[at] !== 0x02 || length === undefined) return undefined;
    // An integer that is cut short by the end of the text is detected below: its stated end is not the end of the text.
    const integer = der.subarray(at + 2, at + 2 + length);
    const [first, second] = integer;
    if (first === undefined || first >= 0x80) return undefined;
    if (first === 0 && second !== undefined && second < 0x80) return undefined;
    const magnitude = first === 0 ? integer.subarray(1) : integer;
    if (magnitude.length > RAW_LENGTH / 2) return undefined;
    raw.set(magnitude, end - magnitude.length);
    at += 2 + length;
  }
  return at === der.length ? raw : undefined;
}

/**
 * DER of raw r‖s.
 * @throws RangeError if it is not 64 bytes
 */
export function encodeDer(raw: Uint8Array): Bytes {
  if (raw.length !== RAW_LENGTH) throw new RangeError("a raw P-256 signature has 64 bytes");
  const body = [raw.subarray(0, RAW_LENGTH / 2), raw.subarray(RAW_LENGTH / 2)].flatMap(encodeDerInteger);
  return Uint8Array.from([0x30, body.length, ...body]);
}

/** A new key pair. The private key can be exported once, for its owner. */
export async function generateKeyPair(): Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }> {
  const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  return pair as { privateKey: CryptoKey; publicKey: CryptoKey };
}

/**
 * PKCS#8 PEM of an extractable private key.
 * @throws if the key is not extractable
 */
export async function exportPrivateKeyPem(privateKey: CryptoKey): Promise<string> {
  return exportPKCS8(privateKey);
}

/**
 * A private key from PKCS#8 PEM. It stays extractable so that its public part can be derived.
 * @throws if the text is not a P-256 private key in PKCS#8 PEM
 */
export async function importPrivateKeyPem(pem: string): Promise<CryptoKey> {
  return importPKCS8(pem, "ES256", { extractable: true });
}

/**
 * The public key of an extractable key, private or public.
 * @throws if the key is not an extractable P-256 key
 */
export async function exportPublicJwk(key: CryptoKey): Promise<PublicJwk> {
  const { kty, crv, x, y } = await exportJWK(key);
  const parsed = parsePublicJwk({ kty, crv, x, y });
  if (!parsed.ok) throw new TypeError("not a P-256 key");
  return parsed.jwk;
}

async function verifyRaw(key: CryptoKey, bytes: Bytes, raw: Bytes): Promise<boolean> {
  // WebCrypto rejects a key of another algorithm; for the caller this is a signature that does not verify.
  return crypto.subtle.verify(ALGORITHM, key, raw, bytes).catch(() => false);
}

async function toCryptoKey(key: CryptoKey | PublicJwk): Promise<CryptoKey | undefined> {
  if (!("kty" in key)) return key;
  const parsed = parsePublicJwk(key);
  return parsed.ok ? importPublicJwk(parsed.jwk).catch(() => undefined) : undefined;
}

function isInRange(raw: Uint8Array): boolean {
  return [raw.subarray(0, RAW_LENGTH / 2), raw.subarray(RAW_LENGTH / 2)].every((half) => {
    const number = BigInt(`0x${encodeHex(half)}`);
    return number > 0n && number < P256_ORDER;
  });
}

function encodeDerInteger(half: Uint8Array): number[] {
  const start = half.findIndex((byte) => byte !== 0);
  const magnitude = start === -1 ? [0] : Array.from(half.subarray(start));
  const content = (magnitude[0] ?? 0) >= 0x80 ? [0, ...magnitude] : magnitude;
  return [0x02, content.length, ...content];
}

const toBytes = (message: string | Uint8Array): Bytes =>
  typeof message === "string" ? encodeUtf8(message) : (message as Bytes);
