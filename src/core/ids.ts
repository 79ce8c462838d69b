// Opaque, prefixed, time-ordered ids (HTTP-1).

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
  "alt",
  "ntc",
  "ann",
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_BYTES = 6;
const BYTES = 16;

/** A new id of the given kind; `now` is epoch milliseconds. */
export const newId = (prefix: IdPrefix, now: number): string => `${prefix}_${crockford(uuidV7(now))}`;

export const idPattern = (prefix: IdPrefix): RegExp => new RegExp(`^${prefix}_[0-7][0-9A-HJKMNP-TV-Z]{25}$`);

/** RFC 9562, section 5.7: 48 bits of time, version, 74 random bits, variant. */
function uuidV7(now: number): Uint8Array {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  let time = Math.floor(now);
  for (let at = TIME_BYTES - 1; at >= 0; at--) {
    bytes[at] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return bytes;
}

/** 128 bits as 26 characters of five bits each, with two zero bits before them. */
function crockford(bytes: Uint8Array): string {
  let text = "";
  let bits = 2;
  let rest = 0;
  for (const byte of bytes) {
    rest = (rest << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt(rest >> bits);
      rest &= (1 << bits) - 1;
    }
  }
  return text;
}
