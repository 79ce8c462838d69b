// Secrets of endpoints at rest (EVT-23): sealed under a key of WEBHOOK_SEAL_KEYS, the newest first, older ones readable. A sealed text names its key,
// and opens for its endpoint alone.
import type { Env } from "../context.ts";
import { decodeBase64, sha256Hex } from "../core/encoding.ts";
import { memoizeBy } from "../core/memo.ts";
import { seal, unseal } from "../core/seal.ts";
import { splitList } from "../core/text.ts";
import type { EndpointRow } from "../db/tables/webhooks.ts";

const KEY_BYTES = 32;
const NAME_CHARS = 16;

type SealKey = { readonly name: string; readonly key: CryptoKey };

const bytesOf = memoizeBy((env: Pick<Env, "WEBHOOK_SEAL_KEYS">) => {
  const keys = splitList(env.WEBHOOK_SEAL_KEYS).map((text) => ({ text, bytes: decodeBase64(text) }));
  if (keys.length === 0 || keys.some(({ bytes }) => bytes?.length !== KEY_BYTES))
    throw new Error(`WEBHOOK_SEAL_KEYS must be a list of keys, each base64 of ${KEY_BYTES} bytes, the newest first`);
  return keys.flatMap(({ text, bytes }) => (bytes ? [{ text, bytes }] : []));
});

/** @throws Error where WEBHOOK_SEAL_KEYS is no list of keys */
export const checkSealKeys = (env: Env): unknown => bytesOf(env);

const keysOf = memoizeBy((env: Env) =>
  Promise.all(
    bytesOf(env).map(async ({ text, bytes }): Promise<SealKey> => {
      const name = (await sha256Hex(text)).slice(0, NAME_CHARS);
      return { name, key: await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]) };
    }),
  ),
);

/** Names the newest key, with which sealed texts begin. */
export const newestSealKey = async (env: Env): Promise<string> => (await newest(env)).name;

async function newest(env: Env): Promise<SealKey> {
  const [first] = await keysOf(env);
  if (!first) throw new Error("unreachable: the list of keys is not empty");
  return first;
}

/** `<name of the key>.<iv>.<ciphertext and tag>` */
export async function sealSecret(env: Env, webhookId: string, secret: string): Promise<string> {
  const { name, key } = await newest(env);
  return `${name}.${await seal(key, secret, webhookId)}`;
}

/** @throws Error where its key is no longer configured, or the text is another endpoint's or altered */
export async function openSecret(env: Env, webhookId: string, sealed: string): Promise<string> {
  const [name = ""] = sealed.split(".");
  const known = (await keysOf(env)).find((one) => one.name === name);
  const secret = known && (await unseal(known.key, sealed.slice(name.length + 1), webhookId));
  if (secret === undefined) throw new Error(`the secret of ${webhookId} does not open`);
  return secret;
}

/** The secrets that count now, the newest first. */
export function openSecrets(
  env: Env,
  { webhookId, secret, previousSecret, previousUntil }: EndpointRow,
  now: number,
): Promise<string[]> {
  const counts = previousSecret !== null && (previousUntil ?? 0) > now;
  const sealed = counts ? [secret, previousSecret] : [secret];
  return Promise.all(sealed.map((text) => openSecret(env, webhookId, text)));
}
