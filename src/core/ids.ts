// Contract section 1: opaque, prefixed, time-ordered ids: 26 characters of Crockford base32 over UUIDv7 bits.

export const ID_PREFIXES = [
  "plt",
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
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_BITS = 48;

/** A new id of the given kind; `now` is epoch milliseconds. */
export function newId(prefix: IdPrefix, now: number): string {
  return `${prefix}_${crockford(uuidV7(now))}`;
}

export const idPattern = (prefix: IdPrefix): RegExp => new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`);

/** RFC 9562, section 5.7: 48 bits of time, version, 74 random bits, variant. */
function uuidV7(now: number): bigint {
  const random = crypto.getRandomValues(new Uint8Array(10));
  let tail = 0n;
  for (const byte of random) tail = (tail << 8n) | BigInt(byte);
  const randA = (tail >> 68n) & 0xfffn;
  const randB = tail & ((1n << 62n) - 1n);
  const time = BigInt.asUintN(TIME_BITS, BigInt(Math.floor(now)));
  return (time << 80n) | (0x7n << 76n) | (randA << 64n) | (0x2n << 62n) | randB;
}

function crockford(value: bigint): string {
  let text = "";
  let rest = value;
  for (let i = 0; i < 26; i++) {
    text = ALPHABET.charAt(Number(rest & 31n)) + text;
    rest >>= 5n;
  }
  return text;
}
