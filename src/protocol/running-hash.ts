// The running hash of an append-only log (EVT-12): each entry's hash covers everything before it, so a reader that kept one hash can detect
// whether an entry up to it was changed, removed, inserted or moved.
import { computeSha256, encodeHex, encodeUtf8 } from "../core/encoding.ts";
import { toCanonicalJson } from "./canonical-json.ts";

/** The hash before the first entry: 32 zero bytes, as 64 hex digits. */
export const FIRST_HASH = "0".repeat(64);

const HEX = /^[0-9a-f]{64}$/;

/**
 * The hash of a log up to and including an entry: SHA-256 over the 32 bytes of the previous hash and the UTF-8 bytes of the entry's canonical JSON
 * (RFC 8785).
 *
 * @param before the hash up to the previous entry, 64 lower-case hex digits; `FIRST_HASH` for the first entry
 * @param entry the entry exactly as the API returns it, with its `seq`: a plain JSON object
 * @returns 64 lower-case hex digits
 * @throws TypeError if `before` is not such a hash, or if `entry` is not a JSON value (see `toCanonicalJson`)
 */
export async function computeNextHash(before: string, entry: object): Promise<string> {
  if (!HEX.test(before)) throw new TypeError("the hash before an entry is not 64 lower-case hex digits");
  const text = encodeUtf8(toCanonicalJson(entry));
  const bytes = new Uint8Array(32 + text.length);
  for (let at = 0; at < 32; at++) bytes[at] = Number.parseInt(before.slice(2 * at, 2 * at + 2), 16);
  bytes.set(text, 32);
  return encodeHex(await computeSha256(bytes));
}
