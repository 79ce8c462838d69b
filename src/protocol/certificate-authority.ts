// The operator's CA (IDN-3). Its keys come from one secret: a new key is published a day before its first use, and an old one stays
// published until the last certificate under it expires.

import {
  importJwks,
  importSigningKey,
  type PrivateJwk,
  type PublishedJwks,
  parsePublicJwk,
  publicPart,
  publishedJwks,
  type SigningKey,
} from "./jwks.ts";
import { isObject } from "./jws.ts";

/** `signing` signs now; `jwks` is published; `verification` checks what any of the published keys signed. */
export type CertificateAuthority = {
  readonly signing: SigningKey;
  readonly jwks: PublishedJwks;
  readonly verification: ReadonlyMap<string, CryptoKey>;
};

/** `signing`: signs now, exactly one. `published`: verifies only (not yet, or no longer, signing). */
type AuthorityKey = { readonly jwk: PrivateJwk; readonly use: "signing" | "published" };

/**
 * Imports every key once.
 *
 * @param secret JSON: a list of `{jwk, use}`, each `jwk` a private P-256 key
 * @throws without naming a value, because the secret must not reach a log
 */
export async function openCertificateAuthority(secret: string): Promise<CertificateAuthority> {
  const keys = parseKeys(secret);
  const [signer, second] = keys?.filter((key) => key.use === "signing") ?? [];
  if (!keys || !signer || second)
    throw new Error("the secret CA_KEYS is not a list of {jwk, use} with exactly one signing key");
  const jwks = await publishedJwks(keys.map((key) => key.jwk));
  return { signing: await importSigningKey(signer.jwk), jwks, verification: await importJwks(jwks) };
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
  if (use !== "signing" && use !== "published") return false;
  return parsePublicJwk(rest).ok && typeof d === "string" && parsePublicJwk({ ...publicPart(rest as never), x: d }).ok;
}
