// Secrets at rest: AES-256-GCM under a given or derived key, or under a configured list of keys. `additionalData` names the owner of the secret, so
// that a sealed text that was copied to another place does not open.
import { computeSha256Hex, decodeBase64, encodeBase64, encodeUtf8 } from "./encoding.ts";
import { memoizeBy } from "./retry.ts";
import { splitList } from "./text.ts";

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

// ---- A list of keys -----------------------------------------------------------------------------------------------------

const KEY_BYTES = 32;
const NAME_CHARS = 16;

type Listed<Name extends string> = { readonly [N in Name]: string };
type SealKey = { readonly name: string; readonly key: CryptoKey };

/** The newest key of the list seals, older keys still open: a sealed text names its key. `name`: the variable that lists them. */
export function openSealing<Name extends string>(name: Name) {
  const bytesOf = memoizeBy((env: Listed<Name>) => {
    // The variable may be undefined where no operator has set it.
    const keys = splitList(env[name] ?? "").map((text) => ({ text, bytes: decodeBase64(text) }));
    if (keys.length === 0 || keys.some(({ bytes }) => bytes?.length !== KEY_BYTES))
      throw new Error(`${name} must be a list of keys, each base64 of ${KEY_BYTES} bytes, the newest first`);
    return keys.flatMap(({ text, bytes }) => (bytes ? [{ text, bytes }] : []));
  });

  const keysOf = memoizeBy((env: Listed<Name>) =>
    Promise.all(
      bytesOf(env).map(async ({ text, bytes }): Promise<SealKey> => {
        const keyName = (await computeSha256Hex(text)).slice(0, NAME_CHARS);
        const key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
        return { name: keyName, key };
      }),
    ),
  );

  async function newest(env: Listed<Name>): Promise<SealKey> {
    const [first] = await keysOf(env);
    if (!first) throw new Error("unreachable: the list of keys is not empty");
    return first;
  }

  return {
    /** @throws Error where the variable is no list of keys */
    check: (env: Listed<Name>): unknown => bytesOf(env),
    newestKey: async (env: Listed<Name>): Promise<string> => (await newest(env)).name,
    /** `<name of the key>.<iv>.<ciphertext and tag>` */
    seal: async (env: Listed<Name>, owner: string, secret: string): Promise<string> => {
      const { name: keyName, key } = await newest(env);
      return `${keyName}.${await seal(key, secret, owner)}`;
    },
    /** @throws Error where its key is no longer configured, or the text is another owner's or altered */
    open: async (env: Listed<Name>, owner: string, sealed: string): Promise<string> => {
      const [keyName = ""] = sealed.split(".");
      const known = (await keysOf(env)).find((one) => one.name === keyName);
      const secret = known && (await unseal(known.key, sealed.slice(keyName.length + 1), owner));
      if (secret === undefined) throw new Error(`the secret of ${owner} cannot be decrypted`);
      return secret;
    },
  };
}

// ---- Short hash ---------------------------------------------------------------------------------------------------------

/** 53 bits of a text (cyrb53), as a whole number. It distinguishes texts and protects no secret. */
export function computeShortHash(text: string): number {
  let [high, low] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    high = Math.imul(high ^ code, 2654435761);
    low = Math.imul(low ^ code, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 4294967296 * (2097151 & low) + (high >>> 0);
}
