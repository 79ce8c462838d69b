// Specification 2.5: the operator's CA. Its keys come from one secret, newest last to sign: a new key is published a day
// before its first use, an old one stays published until the last certificate under it expires (contract section 5).
import { z } from "zod";
import { importJwks, importSigningKey, type PublishedJwks, publishedJwks, type SigningKey } from "../protocol/jwks.ts";

export type CertificateAuthority = {
  readonly signing: SigningKey;
  readonly jwks: PublishedJwks;
  readonly verification: ReadonlyMap<string, CryptoKey>;
};

const coordinate = z.string().regex(/^[A-Za-z0-9_-]{43}$/);
const keysSchema = z
  .array(
    z.object({
      jwk: z.object({ kty: z.literal("EC"), crv: z.literal("P-256"), x: coordinate, y: coordinate, d: coordinate }),
      /** `signing`: signs now, exactly one. `published`: verifies only (not yet, or no longer, signing). */
      use: z.enum(["signing", "published"]),
    }),
  )
  .refine((keys) => keys.filter((key) => key.use === "signing").length === 1, "exactly one key signs");

/** Imports every key once. Throws without naming a value: the secret must not reach a log. */
export async function openCertificateAuthority(secret: string): Promise<CertificateAuthority> {
  const parsed = keysSchema.safeParse(parse(secret));
  if (!parsed.success) throw new Error("the secret CA_KEYS is not a list of {jwk, use} with exactly one signing key");
  const keys = parsed.data;
  const signer = keys.find((key) => key.use === "signing");
  if (!signer) throw new Error("the secret CA_KEYS has no signing key");
  const jwks = await publishedJwks(keys.map((key) => key.jwk));
  return { signing: await importSigningKey(signer.jwk), jwks, verification: await importJwks(jwks) };
}

function parse(secret: string): unknown {
  try {
    return JSON.parse(secret);
  } catch {
    return null;
  }
}
