// The keys of the protocol: P-256 public keys as JWK (RFC 7517), their id (RFC 7638), and the operator's published set at
// `{iss}/.well-known/aeap-ca-jwks` (IDN-3, IDN-4). Only ES256 signing keys are used; other entries of a set are ignored.
import { type CryptoKey, calculateJwkThumbprint, importJWK } from "jose";
import { decodeBase64Url } from "../core/encoding.ts";

/** A P-256 public key: exactly these four members. Coordinates are base64url of 32 bytes. */
export type PublicJwk = { readonly kty: "EC"; readonly crv: "P-256"; readonly x: string; readonly y: string };

/** A P-256 private key. A secret: never in a response, a log or a stored row. */
export type PrivateJwk = PublicJwk & { readonly d: string };

/** A key as published by the operator. `kid` is the RFC 7638 thumbprint. */
export type PublishedJwk = PublicJwk & { readonly kid: string; readonly use: "sig"; readonly alg: "ES256" };

/** The published set; during a rotation it has several keys. */
export type PublishedJwks = { readonly keys: readonly PublishedJwk[] };

/** A private key that signs under a published `kid`. */
export type SigningKey = { readonly kid: string; readonly privateKey: CryptoKey };

/** Imported verification keys by `kid`: build once with `importJwks`, keep, and pass to every check. */
export type VerificationKeys = ReadonlyMap<string, CryptoKey>;

/** Finds a key by `kid`, for callers that fetch a set on demand. If it rejects, the check rejects too. */
export type KeyResolver = (kid: string) => CryptoKey | undefined | Promise<CryptoKey | undefined>;

/** The keys for a check. A raw set is imported at each call (25 µs a key): pass a map where this matters. */
export type KeySource = VerificationKeys | KeyResolver | { readonly keys: readonly unknown[] };

/** Why a value is not a usable public key. */
export type JwkFault = "jwk_malformed" | "jwk_not_p256" | "jwk_private";

export type JwkParse =
  | { readonly ok: true; readonly jwk: PublicJwk }
  | { readonly ok: false; readonly reason: JwkFault };

/**
 * Parses a P-256 public key. Private members are refused, not dropped: a document that contains `d` has leaked a key. Only the import checks that
 * the point is on the curve.
 */
export function parsePublicJwk(value: unknown): JwkParse {
  if (typeof value !== "object" || value === null) return { ok: false, reason: "jwk_malformed" };
  const { kty, crv, x, y, d, k } = value as Readonly<Record<string, unknown>>;
  if (d !== undefined || k !== undefined) return { ok: false, reason: "jwk_private" };
  if (kty !== "EC" || crv !== "P-256") return { ok: false, reason: "jwk_not_p256" };
  if (!isCoordinate(x) || !isCoordinate(y)) return { ok: false, reason: "jwk_malformed" };
  return { ok: true, jwk: { kty, crv, x, y } };
}

const isCoordinate = (value: unknown): value is string =>
  typeof value === "string" && decodeBase64Url(value)?.length === 32;

/** The four public members of a key, without any others. */
export function pickPublicPart(jwk: PublicJwk): PublicJwk {
  return { kty: jwk.kty, crv: jwk.crv, x: jwk.x, y: jwk.y };
}

/** The key's id: RFC 7638 thumbprint, SHA-256, base64url (43 characters). */
export async function computeJwkThumbprint(jwk: PublicJwk): Promise<string> {
  return calculateJwkThumbprint(pickPublicPart(jwk), "sha256");
}

/**
 * Imports a public key for `verify`.
 * @throws if the key is malformed or its point is not on the curve
 */
export async function importPublicJwk(jwk: PublicJwk): Promise<CryptoKey> {
  return (await importJWK({ ...pickPublicPart(jwk), ext: true }, "ES256")) as CryptoKey;
}

/**
 * Imports the operator's private key, not extractable, under its thumbprint.
 * @throws if the key is malformed
 */
export async function importSigningKey(jwk: PrivateJwk): Promise<SigningKey> {
  const privateKey = (await importJWK({ ...pickPublicPart(jwk), d: jwk.d, ext: false }, "ES256")) as CryptoKey;
  return { kid: await computeJwkThumbprint(jwk), privateKey };
}

/** A key in its published form: public members, thumbprint, `use: sig`, `alg: ES256`. The `d` of a private key is never included. */
export async function toPublishedJwk(jwk: PublicJwk): Promise<PublishedJwk> {
  return { ...pickPublicPart(jwk), kid: await computeJwkThumbprint(jwk), use: "sig", alg: "ES256" };
}

/** The set published at `/.well-known/aeap-ca-jwks`, in the caller's order. */
export async function toPublishedJwks(jwks: readonly PublicJwk[]): Promise<PublishedJwks> {
  return { keys: await Promise.all(jwks.map(toPublishedJwk)) };
}

/**
 * Imports a set once, for many checks.
 *
 * @param jwks a JWKS as fetched: anything with `keys`
 * @returns keys by `kid`. Skipped: entries without `kid`, with another `use` than `sig`, another `alg` than ES256,
 *   another curve, `key_ops` without verify, private members, or a point off the curve; the second of two with one `kid`
 */
export async function importJwks(jwks: { readonly keys: readonly unknown[] }): Promise<Map<string, CryptoKey>> {
  const imported = new Map<string, CryptoKey>();
  for (const entry of jwks.keys) {
    const usable = parseUsableEntry(entry);
    if (usable === undefined || imported.has(usable.kid)) continue;
    const key = await importPublicJwk(usable.jwk).catch(() => undefined);
    if (key !== undefined) imported.set(usable.kid, key);
  }
  return imported;
}

/** The key of a `kid` from any source; undefined if the source does not know it. */
export async function findKey(source: KeySource, kid: string): Promise<CryptoKey | undefined> {
  if (typeof source === "function") return source(kid);
  if ("get" in source) return source.get(kid);
  const entries = source.keys.filter((entry) => parseUsableEntry(entry)?.kid === kid);
  return (await importJwks({ keys: entries })).get(kid);
}

function parseUsableEntry(entry: unknown): { kid: string; jwk: PublicJwk } | undefined {
  const parsed = parsePublicJwk(entry);
  if (!parsed.ok) return undefined;
  const { kid, use, alg, key_ops } = entry as Readonly<Record<string, unknown>>;
  if (typeof kid !== "string" || kid === "" || use !== "sig" || alg !== "ES256") return undefined;
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes("verify"))) return undefined;
  return { kid, jwk: parsed.jwk };
}
