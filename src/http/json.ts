// Reads bodies: an unparseable body, a wrong type or duplicate keys is 400, too large or too deep is 413 (HTTP-9, HTTP-10). The raw bytes are kept,
// because a request-bound proof signs them.
import { ServiceError } from "../core/errors.ts";
import { JSON_BODY_MAX_BYTES, JSON_DEPTH_MAX, SECOND_MS } from "../core/limits.ts";
import { isDouble } from "../core/text.ts";
import { type NumberSources, type Path, writeMoneyAsText } from "./money-fields.ts";

export type BodyLimit = {
  readonly maxBytes: number;
  readonly tooLarge: () => ServiceError;
  readonly seconds: number;
};

export async function readBody(
  request: Request,
  { maxBytes, tooLarge, seconds }: BodyLimit = JSON_LIMIT,
): Promise<Uint8Array<ArrayBuffer>> {
  const declared = Number(request.headers.get("content-length") ?? 0);
  if (declared > maxBytes) throw tooLarge();
  if (!request.body) return new Uint8Array(0);
  // A client that has sent little fills little memory, whatever length it declared; later, a body of a declared length is in memory once.
  let body = new Uint8Array(Math.min(declared || 0, FIRST_BYTES));
  let size = 0;
  for await (const chunk of readInTime(request.body, seconds)) {
    const needed = size + chunk.byteLength;
    if (needed > maxBytes) throw tooLarge();
    if (needed > body.length)
      body = enlarge(body, needed <= declared ? declared : Math.min(maxBytes, Math.max(needed, 2 * body.length)));
    body.set(chunk, size);
    size = needed;
  }
  return body.subarray(0, size);
}

const FIRST_BYTES = 64 * 1024;

/** Bounds the time of a body, because a slow client holds resources that others wait for. */
async function* readInTime(body: ReadableStream<Uint8Array>, seconds: number): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    // Creates the error only when the time is over, because its stack trace is expensive.
    const refuse = () => reject(toUnreadableBodyError(`The body did not arrive within ${seconds} seconds.`));
    timer = setTimeout(refuse, seconds * SECOND_MS);
  });
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read().catch(throwBrokenOff), late]);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => undefined);
  }
}

/** The client is gone, which is not a failure of the service. */
function throwBrokenOff(): never {
  throw toUnreadableBodyError("The body is incomplete.");
}

function enlarge(bytes: Uint8Array, length: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(length);
  larger.set(bytes);
  return larger;
}

const buildBodyTooLargeError = () =>
  new ServiceError("payload_too_large", { detail: { max_bytes: JSON_BODY_MAX_BYTES, max_depth: JSON_DEPTH_MAX } });

const JSON_LIMIT: BodyLimit = { maxBytes: JSON_BODY_MAX_BYTES, tooLarge: buildBodyTooLargeError, seconds: 15 };

const toUnreadableBodyError = (message: string) => new ServiceError("invalid_request", { message });

/** `identity`: equal for two bodies if their values are equal; a number and a string differ (IDM-4). */
export type ParsedJson = { readonly body: unknown; readonly identity: unknown };

export function parseJson(bytes: Uint8Array, contentType: string | null, money: readonly Path[]): ParsedJson {
  if (bytes.byteLength === 0) throw toUnreadableBodyError("A JSON body is required.");
  if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(contentType ?? "")) {
    throw toUnreadableBodyError("The body must be sent as Content-Type: application/json.");
  }
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw toUnreadableBodyError("The body is not UTF-8.");
  }
  checkShape(text);
  try {
    return parseNumbers(text, money);
  } catch (thrown) {
    if (thrown instanceof ServiceError) throw thrown;
    // Repeats only the position from the parser's message, because the rest quotes the body.
    const place = thrown instanceof Error ? /line \d+ column \d+/.exec(thrown.message)?.[0] : undefined;
    throw toUnreadableBodyError(place ? `The body is not valid JSON: see ${place}.` : "The body is not valid JSON.");
  }
}

/** Accepts no body or an empty object, which some clients always send. A byte order mark is neither. */
export function requireEmptyBody(raw: Uint8Array): undefined {
  if (raw.byteLength === 0) return undefined;
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(raw);
  if (/^[ \t\r\n]*(?:\{[ \t\r\n]*\}[ \t\r\n]*)?$/.test(text)) return undefined;
  throw toUnreadableBodyError("This call takes no body.");
}

type Source = { source?: string };

/** I-JSON (RFC 7493): text that is not Unicode and numbers that a double would change can neither be stored nor signed. Money is not read as one. */
function parseNumbers(text: string, money: readonly Path[]): ParsedJson {
  const names = new Set(money.map((path) => path.at(-1)));
  const sources: NumberSources = new Map();
  let isKept = true;
  const body: unknown = JSON.parse(
    text,
    function receive(this: unknown, key: string, value: unknown, context?: Source) {
      if (!key.isWellFormed() || (typeof value === "string" && !value.isWellFormed()))
        throw toUnreadableBodyError("The body contains half a surrogate pair.");
      if (typeof value !== "number") return value;
      const { source = String(value) } = context ?? {};
      if (names.has(key)) sources.set(this, (sources.get(this) ?? new Map<string, string>()).set(key, source));
      else isKept &&= isDouble(source);
      return value;
    },
  );
  const numbers = writeMoneyAsText(body, money, sources);
  for (const ofHolder of sources.values()) for (const source of ofHolder.values()) isKept &&= isDouble(source);
  if (!isKept) throw toUnreadableBodyError("The body contains a number that is too large or has too many digits.");
  return { body, identity: numbers.length === 0 ? body : { body, numbers } };
}

/** Bounds the depth and refuses duplicate keys, in one pass over the text before it is parsed. */
function checkShape(text: string): void {
  const open: (Set<string> | null)[] = [];
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (char === "{" || char === "[") {
      open.push(char === "{" ? new Set() : null);
      if (open.length > JSON_DEPTH_MAX) throw buildBodyTooLargeError();
    } else if (char === "}" || char === "]") {
      open.pop();
    } else if (char === '"') {
      const end = findStringEnd(text, i);
      const keys = open.at(-1);
      if (keys && isColonNext(text, end + 1)) refuseDuplicate(keys, text.slice(i, end + 1));
      i = end;
    }
  }
}

function isColonNext(text: string, from: number): boolean {
  let at = from;
  while (/[ \t\n\r]/.test(text.charAt(at))) at++;
  return text[at] === ":";
}

function findStringEnd(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === '"') return i;
  }
  throw toUnreadableBodyError("The body is not valid JSON.");
}

function refuseDuplicate(keys: Set<string>, literal: string): void {
  let key: string;
  try {
    key = JSON.parse(literal) as string;
  } catch {
    throw toUnreadableBodyError("The body is not valid JSON.");
  }
  if (keys.has(key)) throw toUnreadableBodyError(`An object in the body has the key ${literal.slice(0, 100)} twice.`);
  keys.add(key);
}
