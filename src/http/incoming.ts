// A request as the router passes it to the entrances, parsed as far as possible, and the reading of multipart/form-data (RFC 7578, HTTP-36).
import type { AnyCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { type Bytes, decodeUtf8 } from "../core/encoding.ts";
import { type FieldError, ServiceError, toFieldError } from "../core/errors.ts";
import { isUploadedFile, toUploadedFile } from "../core/export.ts";
import type { Database, Read } from "../db/batch.ts";
import type { AppContext } from "./app-env.ts";
import type { Route } from "./route.ts";

export type Incoming = {
  readonly context: AppContext;
  readonly deps: Deps;
  /** The database that the call reads: the primary, or a replica if the route allows it. */
  readonly db: Database;
  readonly requestId: string;
  readonly background: (work: Promise<unknown>) => void;
  readonly url: URL;
  readonly rawBody: Uint8Array<ArrayBuffer>;
  readonly body: unknown;
  readonly validBody: unknown;
  /** Equal for two transmissions of one request: the body, for a form without its boundary and with digests for its files (IDM-4). */
  readonly identity: unknown;
  readonly route: Route;
  /** Null also when it is malformed; then the call is refused. */
  readonly idempotencyKey: string | null;
  readonly lockedDid: string | null;
  readonly readObject: ((call: AnyCall) => { readonly object: Read<unknown> }) | null;
};

// ---- Forms ---------------------------------------------------------------------------------------------------------------

/** Bounds the boundaries, the headers and the parts besides the file. */
export const FORM_MAX_BYTES = 64 * 1024;

/** `fileName`: null for a field that is not a file. `bytes`: a view of the body, not a copy. */
export type Part = {
  readonly name: string;
  readonly fileName: string | null;
  readonly bytes: Bytes;
};

const toBrokenFormError = (message: string) => new ServiceError("invalid_request", { message });

const PARTS_MAX = 20;

/** A broken form is 400; the values of its parts are judged like any other body. */
export function parseMultipart(body: Bytes, contentType: string | null): Part[] {
  const delimiter = new TextEncoder().encode(`--${parseBoundary(contentType)}`);
  const parts: Part[] = [];
  // A line break before the first boundary belongs to no part.
  let at = body[0] === CR && body[1] === LF ? 2 : 0;
  if (!startsWith(body, delimiter, at))
    throw toBrokenFormError("The body does not begin with the boundary of its Content-Type.");
  at += delimiter.length;
  while (true) {
    if (body[at] === DASH && body[at + 1] === DASH) break;
    if (parts.length === PARTS_MAX) throw toBrokenFormError(`The form has more than ${PARTS_MAX} parts.`);
    const start = findLineEnd(body, at);
    if (start === null) throw toBrokenFormError("A boundary is not followed by a line break.");
    const end = findNextDelimiter(body, delimiter, start - 2);
    if (end === null) throw toBrokenFormError("The body ends before its last boundary.");
    parts.push(parsePartBytes(body, start, end));
    at = end + 2 + delimiter.length;
  }
  const rest = body.length - (at + 2);
  if (rest !== 0 && !(rest === 2 && body[at + 2] === CR && body[at + 3] === LF)) {
    throw toBrokenFormError("The body goes on after its last boundary.");
  }
  return parts;
}

const [CR, LF, DASH, SPACE, TAB] = [13, 10, 45, 32, 9];

function startsWith(body: Bytes, delimiter: Uint8Array, at: number): boolean {
  for (let i = 0; i < delimiter.length; i++) if (body[at + i] !== delimiter[i]) return false;
  return true;
}

/** The start of the next line if the rest of this line is white space, else null. */
function findLineEnd(body: Bytes, from: number): number | null {
  let at = from;
  while (body[at] === SPACE || body[at] === TAB) at++;
  return body[at] === CR && body[at + 1] === LF ? at + 2 : null;
}

/** The line break before the next boundary. A boundary contains none, so no byte is compared twice, and the time grows linearly. */
function findNextDelimiter(body: Bytes, delimiter: Uint8Array, from: number): number | null {
  for (let at = from; at + 2 + delimiter.length <= body.length; at++) {
    if (body[at] !== CR || body[at + 1] !== LF || !startsWith(body, delimiter, at + 2)) continue;
    const after = at + 2 + delimiter.length;
    const isLast = body[after] === DASH && body[after + 1] === DASH;
    if (isLast || findLineEnd(body, after) !== null) return at;
  }
  return null;
}

const HEADERS_MAX_BYTES = 8 * 1024;

/** `start` is the first byte after the boundary's line, `end` the line break before the next boundary. */
function parsePartBytes(body: Bytes, start: number, end: number): Part {
  // A part without content ends where its headers do.
  const last = Math.min(end, start + HEADERS_MAX_BYTES);
  for (let at = start; at <= last; at++) {
    if (body[at] !== CR || body[at + 1] !== LF || body[at + 2] !== CR || body[at + 3] !== LF) continue;
    const headers = decodeUtf8(body.subarray(start, at));
    if (headers === undefined) throw toBrokenFormError("The headers of a part are not UTF-8.");
    return { ...parsePartNames(headers), bytes: body.subarray(Math.min(at + 4, end), end) };
  }
  throw toBrokenFormError("The headers of a part have no end.");
}

// ---- The values of a form ------------------------------------------------------------------------------------------------

/** Fields become texts, files UploadedFile. A repeated name is a fault of that name. */
export async function toFormObject(
  parts: readonly Part[],
): Promise<{ raw: Readonly<Record<string, unknown>>; repeated: FieldError[] }> {
  const raw = Object.create(null) as Record<string, unknown>;
  const repeated = new Set<string>();
  for (const { name, fileName, bytes } of parts) {
    if (name in raw) repeated.add(name);
    else raw[name] = fileName === null ? decodeText(bytes) : await toUploadedFile(fileName, bytes);
  }
  const message = "The part is sent more than once.";
  return { raw, repeated: [...repeated].map((name) => toFieldError(name, "invalid_value", message)) };
}

function decodeText(bytes: Bytes): string {
  const text = decodeUtf8(bytes);
  if (text === undefined) throw toBrokenFormError("A field of the form is not UTF-8.");
  return text;
}

export const toFormIdentity = (form: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(form).map(([name, value]) => [
      name,
      isUploadedFile(value) ? { file_name: value.fileName, sha256: value.sha256 } : value,
    ]),
  );

function parseBoundary(contentType: string | null): string {
  const [, rest] = /^\s*multipart\/form-data(.*)$/is.exec(contentType ?? "") ?? [];
  if (rest === undefined) throw toBrokenFormError("The body must be sent as Content-Type: multipart/form-data.");
  const boundary = parseParameters(rest).get("boundary") ?? "";
  if (!/^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/.test(boundary)) {
    throw toBrokenFormError("The Content-Type has no boundary, or one that RFC 2046 does not allow.");
  }
  return boundary;
}

function parsePartNames(headers: string): Pick<Part, "name" | "fileName"> {
  const lines = headers.split("\r\n").map((line) => /^([\w-]+):(.*)$/s.exec(line));
  const of = (wanted: string) => lines.filter((line) => line?.[1]?.toLowerCase() === wanted).map((line) => line?.[2]);
  const [disposition, ...others] = of("content-disposition");
  const [, rest] = /^[ \t]*form-data(.*)$/is.exec(disposition ?? "") ?? [];
  if (lines.includes(null) || rest === undefined || others.length > 0) {
    throw toBrokenFormError("Each part needs one Content-Disposition: form-data.");
  }
  const encoding = of("content-transfer-encoding")[0]?.trim().toLowerCase() ?? "binary";
  if (!["7bit", "8bit", "binary"].includes(encoding))
    throw toBrokenFormError("A part is encoded; send its bytes as they are.");
  const parameters = parseParameters(rest);
  const name = unescapeForm(parameters.get("name") ?? "");
  if (name === "") throw toBrokenFormError("A part has no name.");
  const extended = parameters.get("filename*");
  const plain = parameters.get("filename");
  const fileName = extended === undefined ? plain && unescapeForm(plain) : decodeExtended(extended);
  return { name, fileName: fileName ?? null };
}

/** A quoted value ends at a quote before `;` or the end, because browsers do not escape a backslash at the end of a file name. */
const PARAMETER = /\s*;\s*([^\s=;"]+)=(?:"((?:[^"\\]|\\.)*)"(?=\s*(?:;|$))|"([^"]*\\)"(?=\s*(?:;|$))|([^\s;"]+))/sy;

function parseParameters(text: string): Map<string, string> {
  const parameters = new Map<string, string>();
  PARAMETER.lastIndex = 0;
  let read = 0;
  for (let found = PARAMETER.exec(text); found; found = PARAMETER.exec(text)) {
    const [, name = "", quoted, literal, bare = ""] = found;
    const key = name.toLowerCase();
    if (parameters.has(key)) throw toBrokenFormError("A header names a parameter twice.");
    // Other backslashes are literal: some clients send the path of a file without escaping it.
    parameters.set(key, quoted?.replace(/\\(["\\])/g, "$1") ?? literal ?? bare);
    read = PARAMETER.lastIndex;
  }
  // Uses no expression, because one that allows white space on both sides takes quadratic time.
  const rest = text.slice(read).trim();
  if (rest !== "" && rest !== ";") throw toBrokenFormError("The parameters of a header cannot be read.");
  return parameters;
}

/** Browsers escape only a quote and line breaks, in this way. */
const unescapeForm = (text: string): string =>
  text.replace(/%(22|0[AD])/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** RFC 8187: `UTF-8''` and percent-encoded bytes. */
function decodeExtended(text: string): string {
  const [, encoded] = /^utf-8'[\w-]*'((?:[\w!#$&+.^`|~-]|%[\da-f]{2})+)$/i.exec(text) ?? [];
  try {
    if (encoded !== undefined) return decodeURIComponent(encoded);
  } catch {
    // Falls through to the refusal: the bytes are not UTF-8.
  }
  throw toBrokenFormError("A file name in `filename*` is not UTF-8 in percent-encoding.");
}
