// Stores signed documents deflated, with their JWS segments decoded first, because base64 does not deflate well. A database page then holds two or
// three rows instead of one.
import { Buffer } from "node:buffer";
import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Enclose a decoded segment. JSON text never contains these characters, because it escapes control characters. */
const [BEGIN, END] = ["\u0001", "\u0002"];
/** JSON that is encoded as base64url begins with these characters. */
const SEGMENT = /eyJ[\w-]+/g;
const DECODED_SEGMENT = new RegExp(`${BEGIN}([^${END}]*)${END}`, "g");

const encodeSegment = (text: string): string => Buffer.from(text).toString("base64url");

function decodeSegment(segment: string): string {
  const text = Buffer.from(segment, "base64url").toString();
  return encodeSegment(text) === segment && !text.includes(BEGIN) && !text.includes(END)
    ? `${BEGIN}${text}${END}`
    : segment;
}

export const deflateJson = (json: string): Buffer => deflateRawSync(json.replace(SEGMENT, decodeSegment));

/** Reads bytes as D1 returns them, their hexadecimal digits, or the JSON text that earlier versions of the service stored. */
export function inflateJson(stored: string | Uint8Array): string {
  if (typeof stored === "string" && stored.startsWith("{")) return stored;
  const bytes = typeof stored === "string" ? Buffer.from(stored, "hex") : Buffer.from(stored);
  return inflateRawSync(bytes)
    .toString()
    .replace(DECODED_SEGMENT, (_, text: string) => encodeSegment(text));
}
