// Contract section 2: the management key. 32 random bytes and a checksum in base62, so that a typo is refused without a
// look-up; stored as SHA-256 only.
import type { Environment } from "../db/scope.ts";

const PREFIX: Record<Environment, string> = { sandbox: "service_sandbox_", production: "service_live_" };
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const SECRET_CHARS = 43;
const CHECKSUM_CHARS = 6;
const SHOWN_CHARS = 6;

export type NewKey = { rawKey: string; keyPrefix: string; keyHash: string };

export async function generateManagementKey(environment: Environment): Promise<NewKey> {
  const secret = base62(crypto.getRandomValues(new Uint8Array(32)), SECRET_CHARS);
  const rawKey = PREFIX[environment] + secret + checksum(PREFIX[environment] + secret);
  return { rawKey, keyPrefix: keyPrefixOf(rawKey), keyHash: await hashKey(rawKey) };
}

/** The environment of a well-formed key, without a look-up; null for everything else. */
export function parseManagementKey(rawKey: string): Environment | null {
  const environment = rawKey.startsWith(PREFIX.sandbox)
    ? "sandbox"
    : rawKey.startsWith(PREFIX.production)
      ? "production"
      : null;
  if (environment === null) return null;
  const rest = rawKey.slice(PREFIX[environment].length);
  if (rest.length !== SECRET_CHARS + CHECKSUM_CHARS || !/^[0-9A-Za-z]+$/.test(rest)) return null;
  const body = rawKey.slice(0, -CHECKSUM_CHARS);
  return checksum(body) === rawKey.slice(-CHECKSUM_CHARS) ? environment : null;
}

/** What may be shown of a key: it names the key in the activity log and in listings. */
export function keyPrefixOf(rawKey: string): string {
  const prefix = rawKey.startsWith(PREFIX.sandbox) ? PREFIX.sandbox : PREFIX.production;
  return rawKey.slice(0, prefix.length + SHOWN_CHARS);
}

export async function hashKey(rawKey: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(rawKey));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function base62(bytes: Uint8Array, chars: number): string {
  let value = 0n;
  for (const byte of bytes) value = (value << 8n) | BigInt(byte);
  let text = "";
  for (let i = 0; i < chars; i++) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
}

/** CRC-32 of the key so far, in base62: for typos, not for secrecy. */
function checksum(text: string): string {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  const value = (crc ^ 0xffffffff) >>> 0;
  return base62(new Uint8Array([value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]), CHECKSUM_CHARS);
}
