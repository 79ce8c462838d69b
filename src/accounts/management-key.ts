// The management key, `<brand>_sandbox_…` or `<brand>_live_…` (CRED-4 to CRED-9): 32 random bytes and a checksum in base62, so that a typo is
// refused without a look-up; stored as SHA-256 only.
import type { Env } from "../context.ts";
import { computeSha256Hex, encodeUtf8 } from "../core/encoding.ts";
import { memoizeBy } from "../core/memo.ts";
import { ENVIRONMENTS, type Environment } from "../core/vocabulary.ts";

const ENVIRONMENT_WORDS: Record<Environment, string> = { sandbox: "sandbox", production: "live" };
/** No underscore, because it separates the parts of a key. */
const BRAND_PATTERN = /^[a-z][a-z0-9-]{0,31}$/;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_CHARS = 43;
const CHECKSUM_CHARS = 6;
const RANDOM_CHARS = SECRET_CHARS + CHECKSUM_CHARS;
const SHOWN_CHARS = 6;

export type NewKey = { rawKey: string; keyPrefix: string; keyHash: string };

/** The accepted brands. New keys are issued under the first (CRED-7). */
export type KeyBrands = readonly [string, ...string[]];

/** The configured brands (CRED-7). */
export const keyBrands = memoizeBy((env: Pick<Env, "MANAGEMENT_KEY_BRANDS">) =>
  parseKeyBrands(env.MANAGEMENT_KEY_BRANDS),
);

/** Reads `acme,service`. Throws on a name that cannot be separated from the rest of a key. */
export function parseKeyBrands(list: string): KeyBrands {
  const [first = "", ...others] = list.split(",").map((name) => name.trim());
  const wrong = [first, ...others].find((name) => !BRAND_PATTERN.test(name));
  if (wrong !== undefined) throw new Error(`"${wrong}" in "${list}" is not a brand of management keys`);
  return [first, ...others];
}

export async function generateManagementKey(environment: Environment, brands: KeyBrands): Promise<NewKey> {
  const secret = encodeBase62(crypto.getRandomValues(new Uint8Array(32)), SECRET_CHARS);
  const body = toKeyPrefix(brands[0], environment) + secret;
  const rawKey = body + computeChecksum(body);
  return { rawKey, keyPrefix: takeKeyPrefix(rawKey), keyHash: await computeSha256Hex(rawKey) };
}

/** The environment of a well-formed key of one of the brands, without a look-up; null for everything else. */
export function parseManagementKey(rawKey: string, brands: KeyBrands): Environment | null {
  const prefix = rawKey.slice(0, -RANDOM_CHARS);
  const environment = ENVIRONMENTS.find((one) => brands.some((brand) => toKeyPrefix(brand, one) === prefix));
  if (environment === undefined || !/^[0-9A-Za-z]+$/.test(rawKey.slice(-RANDOM_CHARS))) return null;
  const body = rawKey.slice(0, -CHECKSUM_CHARS);
  return computeChecksum(body) === rawKey.slice(-CHECKSUM_CHARS) ? environment : null;
}

/** Describes the form of a text that `parseManagementKey` refuses, and never whether such a key exists (CRED-9). */
export function describeKeyFault(rawKey: string, brands: KeyBrands): string {
  const prefixes = brands.flatMap((brand) => ENVIRONMENTS.map((environment) => toKeyPrefix(brand, environment)));
  if (prefixes.some((prefix) => rawKey.startsWith(prefix))) {
    return "The management key is incomplete or mistyped: its checksum does not fit.";
  }
  const expected = `A management key of this service begins with ${prefixes.slice(0, 2).join(" or ")}.`;
  if (/^[a-z][a-z0-9-]*_(?:sandbox|live)_/.test(rawKey)) return `The key is of another brand. ${expected}`;
  return `This is not a management key. ${expected} An operator key works only under /v1/operator.`;
}

/** The part of a well-formed key that may be shown: it names the key in the activity log and in lists. */
export const takeKeyPrefix = (rawKey: string): string => rawKey.slice(0, SHOWN_CHARS - RANDOM_CHARS);

const toKeyPrefix = (brand: string, environment: Environment): string => `${brand}_${ENVIRONMENT_WORDS[environment]}_`;

function encodeBase62(bytes: Uint8Array, chars: number): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = "";
  for (let i = 0; i < chars; i++) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
}

/** CRC-32 of the key so far, in base62: it detects typos, and is not secret. */
function computeChecksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of encodeUtf8(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  const value = (crc ^ 0xffffffff) >>> 0;
  return encodeBase62(
    new Uint8Array([value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]),
    CHECKSUM_CHARS,
  );
}
