// Secrets at rest: AES-256-GCM under a given or derived key. `additionalData` names the owner of the secret, so that a sealed text that was copied
// to another place does not open.
import { decodeBase64, encodeBase64, encodeUtf8 } from "./encoding.ts";

const IV_BYTES = 12;

/** HKDF-SHA-256 over a secret that the service does not keep; `info` separates one use from another. */
export async function deriveSealingKey(secret: string, salt: string, info: string): Promise<CryptoKey> {
  const input = await crypto.subtle.importKey("raw", encodeUtf8(secret), "HKDF", false, ["deriveKey"]);
  const derivation = { name: "HKDF", hash: "SHA-256", salt: encodeUtf8(salt), info: encodeUtf8(info) };
  return crypto.subtle.deriveKey(derivation, input, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

/** `<iv>.<ciphertext and tag>`, both in base64. */
export async function seal(key: CryptoKey, plain: string, additionalData: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const algorithm = { name: "AES-GCM", iv, additionalData: encodeUtf8(additionalData) };
  const sealed = await crypto.subtle.encrypt(algorithm, key, encodeUtf8(plain));
  return `${encodeBase64(iv)}.${encodeBase64(new Uint8Array(sealed))}`;
}

/** Undefined if the key or the place is another, or the text was altered. */
export async function unseal(key: CryptoKey, text: string, additionalData: string): Promise<string | undefined> {
  const [iv, sealed] = text.split(".").map(decodeBase64);
  if (!iv || !sealed) return undefined;
  try {
    const algorithm = { name: "AES-GCM", iv, additionalData: encodeUtf8(additionalData) };
    return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, sealed));
  } catch {
    return undefined;
  }
}
