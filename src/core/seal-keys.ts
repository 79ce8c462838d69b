// Seals secrets at rest under a configured list of keys: the newest key seals, older keys still open. A sealed text names its key, and opens only
// for its owner.
import { computeSha256Hex, decodeBase64 } from "./encoding.ts";
import { memoizeBy } from "./memo.ts";
import { seal, unseal } from "./seal.ts";
import { splitList } from "./text.ts";

const KEY_BYTES = 32;
const NAME_CHARS = 16;

type Listed<Name extends string> = { readonly [N in Name]: string };
type SealKey = { readonly name: string; readonly key: CryptoKey };

/** `name`: the variable that lists the keys. */
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
    /** The name of the newest key, with which new sealed texts begin. */
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
