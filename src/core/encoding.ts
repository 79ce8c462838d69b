// Encodes bytes as text: UTF-8, base64, base64url, hex, and SHA-256. Decoding is strict, so that each text has one meaning and each value one text:
// unused bits, stray padding or white space would let a signature be altered without being broken. A text that cannot be decoded is undefined.

/**
 * Bytes over memory that is not shared. These functions return them, and WebCrypto accepts them under every set of types.
 * Functions accept any Uint8Array; WebCrypto rejects one over shared memory.
 */
export type Bytes = Uint8Array<ArrayBuffer>;

const utf8 = new TextEncoder();
const utf8Strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A lone surrogate becomes U+FFFD, as everywhere on the web. */
export function encodeUtf8(text: string): Bytes {
  return utf8.encode(text) as Bytes;
}

export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return utf8Strict.decode(bytes);
  } catch {
    return undefined;
  }
}

export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function decodeBase64(text: string): Bytes | undefined {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0 ? decodeBase64Any(text) : undefined;
}

export function decodeBase64Url(text: string): Bytes | undefined {
  return /^[A-Za-z0-9_-]*$/.test(text) ? decodeUnpadded(text) : undefined;
}

/** base64 or base64url, with or without padding. The two alphabets may not be mixed, and padding, if present, must be complete. */
export function decodeBase64Any(text: string): Bytes | undefined {
  const match = /^(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)(={0,2})$/.exec(text);
  if (match === null) return undefined;
  const padding = match[1] ?? "";
  if (padding !== "" && text.length % 4 !== 0) return undefined;
  const bare = text.slice(0, text.length - padding.length);
  return decodeUnpadded(bare.replaceAll("+", "-").replaceAll("/", "_"));
}

/** Five bits a character, without padding. `zeros`: how many zero bits precede the bytes. */
export function encodeBase32(bytes: Uint8Array, alphabet: string, zeros = 0): string {
  let text = "";
  let bits = zeros;
  let rest = 0;
  for (const byte of bytes) {
    rest = (rest << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet.charAt(rest >> bits);
      rest &= (1 << bits) - 1;
    }
  }
  return text;
}

export function encodeHex(bytes: Uint8Array): string {
  let hex = "";
  for (const byte of bytes) hex += byte.toString(16).padStart(2, "0");
  return hex;
}

export async function computeSha256(bytes: Uint8Array | ArrayBuffer): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as Bytes | ArrayBuffer));
}

export async function computeSha256Hex(text: string): Promise<string> {
  return encodeHex(await computeSha256(encodeUtf8(text)));
}

function decodeUnpadded(base64url: string): Bytes | undefined {
  if (base64url.length % 4 === 1) return undefined;
  const binary = atob(base64url.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  // The last character may carry bits that no byte uses: only the text that an encoder writes is accepted.
  return encodeBase64Url(bytes.subarray(bytes.length - (bytes.length % 3 || 3))) === takeLastGroup(base64url)
    ? bytes
    : undefined;
}

const takeLastGroup = (text: string): string => text.slice(text.length - (text.length % 4 || 4));
