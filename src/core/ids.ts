// Opaque, prefixed, time-ordered ids (HTTP-1).
import { encodeBase32 } from "./encoding.ts";

export const ID_PREFIXES = [
  "plt",
  "ses",
  "cus",
  "prn",
  "att",
  "agt",
  "mkt",
  "pin",
  "fac",
  "txn",
  "tsk",
  "dsp",
  "evt",
  "whe",
  "dlv",
  "act",
  "doc",
  "key",
  "ver",
  "req",
  "crt",
  "alt",
  "ntc",
  "ann",
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_BYTES = 6;
const BYTES = 16;

export const createId = (prefix: IdPrefix, now: number): string => encodeId(prefix, drawUuidV7(now));

export const encodeId = (prefix: IdPrefix, bytes: Uint8Array): string => `${prefix}_${encodeCrockford(bytes)}`;

/** The 16 bytes of an id of the given kind; null for any other text. */
export function decodeId(prefix: IdPrefix, id: string): Uint8Array | null {
  if (!buildIdPattern(prefix).test(id)) return null;
  let value = 0n;
  for (const digit of id.slice(prefix.length + 1)) value = value * 32n + BigInt(ALPHABET.indexOf(digit));
  return Uint8Array.from({ length: BYTES }, (_, i) => Number((value >> BigInt(8 * (BYTES - 1 - i))) & 0xffn));
}

/** A lower bound, in text order, of all ids of the given kind that were made at `now` or later. No id is from before 1970. */
export function computeFirstId(prefix: IdPrefix, now: number): string {
  const bytes = new Uint8Array(BYTES);
  for (let i = 0, rest = Math.max(0, now); i < 6; i++, rest = Math.floor(rest / 256)) bytes[5 - i] = rest % 256;
  return encodeId(prefix, bytes);
}

/** The instant in an id of the given kind, in epoch milliseconds; null for any other text. */
export function decodeIdInstant(prefix: IdPrefix, id: string): number | null {
  const bytes = decodeId(prefix, id);
  return bytes === null ? null : bytes.subarray(0, TIME_BYTES).reduce((sum, byte) => sum * 256 + byte, 0);
}

export const buildIdPattern = (prefix: IdPrefix): RegExp => new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`);

/** RFC 9562, section 5.7: 48 bits of time, version, 74 random bits, variant. */
function drawUuidV7(now: number): Uint8Array {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return setUuidV7Fields(bytes, now);
}

export function setUuidV7Fields(bytes: Uint8Array, now: number): Uint8Array {
  writeNumber(bytes.subarray(0, TIME_BYTES), Math.floor(now));
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes;
}

export function writeNumber(bytes: Uint8Array, number: number): void {
  let rest = number;
  for (let at = bytes.length - 1; at >= 0; at--) {
    bytes[at] = rest % 256;
    rest = Math.floor(rest / 256);
  }
}

/** Writes 128 bits as 26 characters of five bits each, with two zero bits before them. */
const encodeCrockford = (bytes: Uint8Array): string => encodeBase32(bytes, ALPHABET, 2);
