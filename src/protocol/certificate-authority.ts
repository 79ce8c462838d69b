// The operator's CA (IDN-3). Its keys come from one secret: a new key is published a day before its first use, and an old key stays published
// until its last certificate expires.
import {
  computeJwkThumbprint,
  importJwks,
  importSigningKey,
  type PrivateJwk,
  type PublicJwk,
  type PublishedJwks,
  parsePublicJwk,
  pickPublicPart,
  type SigningKey,
  toPublishedJwks,
} from "./jwks.ts";
import { isObject } from "./jws.ts";

/** `signing` signs now; `keys` are all keys of the secret; `jwks` is published; `verification` verifies signatures by any published key. */
export type CertificateAuthority = {
  readonly signing: SigningKey;
  readonly keys: readonly AuthorityKeyUse[];
  readonly jwks: PublishedJwks;
  readonly verification: ReadonlyMap<string, CryptoKey>;
};

/**
 * `signing`: signs now; there is exactly one. `published`: only verifies (does not sign yet, or no longer), so its private half may be missing.
 * `revoked`: does neither; it is listed so that it does not count as forgotten (IDN-38).
 */
type AuthorityKey =
  | { readonly jwk: PrivateJwk; readonly use: "signing" }
  | { readonly jwk: PublicJwk; readonly use: "published" | "revoked" };
/** A key, named by its thumbprint. */
export type AuthorityKeyUse = { readonly kid: string; readonly use: AuthorityKey["use"] };

/**
 * Imports every key once.
 *
 * @param secret JSON: a list of `{jwk, use}`, each `jwk` a P-256 key, the signing one with its private half
 * @throws without naming a value, because the secret must not reach a log
 */
export async function openCertificateAuthority(secret: string): Promise<CertificateAuthority> {
  const keys = parseAuthorityKeys(secret);
  const named = await Promise.all(keys.map(async ({ jwk, use }) => ({ kid: await computeJwkThumbprint(jwk), use })));
  // Readers refuse a set with two keys of the same id.
  if (new Set(named.map(({ kid }) => kid)).size < named.length) throw new Error("the secret CA_KEYS names a key twice");
  const jwks = await toPublishedJwks(keys.filter(({ use }) => use !== "revoked").map(({ jwk }) => jwk));
  const [signer] = keys.filter(isSigning);
  if (!signer) throw new Error("unreachable: one key signs");
  return {
    signing: await importSigningKey(signer.jwk),
    keys: named,
    jwks,
    verification: await importJwks(jwks),
  };
}

const isSigning = (key: AuthorityKey): key is AuthorityKey & { use: "signing" } => key.use === "signing";

/**
 * Parses the secret and requires exactly one signing key.
 *
 * @throws without naming a value
 */
function parseAuthorityKeys(secret: string): readonly AuthorityKey[] {
  const keys = parseKeys(secret);
  if (keys?.filter(isSigning).length === 1) return keys;
  throw new Error("the secret CA_KEYS is not a list of {jwk, use} with exactly one signing key");
}

function parseKeys(secret: string): readonly AuthorityKey[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(secret);
  } catch {
    return undefined;
  }
  return Array.isArray(value) && value.every(isAuthorityKey) ? value : undefined;
}

function isAuthorityKey(value: unknown): value is AuthorityKey {
  if (!isObject(value) || !isObject(value["jwk"])) return false;
  const { jwk, use } = value;
  const { d, ...rest } = jwk as { d?: unknown };
  if (!parsePublicJwk(rest).ok) return false;
  if (use !== "signing" && use !== "published" && use !== "revoked") return false;
  if (d === undefined) return use !== "signing";
  return typeof d === "string" && parsePublicJwk({ ...pickPublicPart(rest as never), x: d }).ok;
}
