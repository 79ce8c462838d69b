// The keys of Verifiers, who sign attestations: P-256 (ES256) or Ed25519 (EdDSA), named by a `kid` that the Verifier chooses. They are registered by
// value, and checked at registration.
import { type CryptoKey, importJWK } from "jose";
import { decodeBase64Url, encodeHex } from "../core/encoding.ts";
import { isKeyPoint } from "./ed25519.ts";
import type { JwsAlgorithm } from "./jws.ts";

type Named<A extends JwsAlgorithm> = {
  readonly kid: string;
  readonly use?: "sig" | undefined;
  readonly alg?: A | undefined;
};
type P256Jwk = Named<"ES256"> & {
  readonly kty: "EC";
  readonly crv: "P-256";
  readonly x: string;
  readonly y: string;
};
type Ed25519Jwk = Named<"EdDSA"> & { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string };
/** Only public members. */
export type VerifierJwks = { readonly keys: readonly (P256Jwk | Ed25519Jwk)[] };

export const VERIFIER_ALGORITHMS: readonly JwsAlgorithm[] = ["ES256", "EdDSA"];

/** Finds a key of the set, and imports only that one. */
export const createKeyFinder =
  ({ keys }: VerifierJwks) =>
  async (kid: string): Promise<CryptoKey | undefined> => {
    const jwk = keys.find((key) => key.kid === kid);
    if (jwk === undefined) return undefined;
    const { kty, crv, x } = jwk;
    const named = jwk.kty === "EC" ? { kty, crv, x, y: jwk.y } : { kty, crv, x };
    return (await importJWK(named, kty === "EC" ? "ES256" : "EdDSA")) as CryptoKey;
  };

/** Strict base64url of 32 bytes. */
export const isCoordinate = (text: string): boolean => decodeBase64Url(text)?.length === 32;

/** The prime and the coefficient b of P-256 (FIPS 186-5, SEC 2). */
const P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;

/** True if the coordinates are a point of P-256. Synchronous, so that a schema can use it. */
export function isP256Point({ x, y }: { readonly x: string; readonly y: string }): boolean {
  const [px, py] = [decodeNumber(x), decodeNumber(y)];
  return px < P && py < P && (py * py - (px * px * px - 3n * px + B)) % P === 0n;
}

const decodeNumber = (text: string): bigint => BigInt(`0x${encodeHex(decodeBase64Url(text) ?? new Uint8Array(1))}`);

/** True if `x` encodes a point of the large prime group of Ed25519. */
export const isEd25519Point = ({ x }: { readonly x: string }): boolean =>
  isKeyPoint(decodeBase64Url(x) ?? new Uint8Array());
