// RFC 8785 (JCS): the one text of a JSON value, so that a signature or a comparison does not depend on its writer. Used for signed documents
// (IDN-17) and to compare idempotent bodies (IDM-4).

/** A value that JSON can hold. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue };

// Deeper than any body that the service accepts: a hostile document must not exhaust the stack.
const DEPTH_MAX = 128;

/**
 * Canonical JSON text (RFC 8785): members sorted by UTF-16 code units, ECMAScript forms of numbers and strings, no white space.
 *
 * @param value a JSON value: plain objects, arrays, strings, finite numbers, booleans, null
 * @returns the canonical text; its UTF-8 bytes are signed
 * @throws TypeError naming the place, for a non-finite number, undefined (also as a member's value or a hole in an
 *   array), a bigint, function or symbol, a lone surrogate, an object that is not plain, or more than 128 levels
 */
export function toCanonicalJson(value: unknown): string {
  return write(value, "$", 0);
}

function write(value: unknown, place: string, depth: number): string {
  if (depth > DEPTH_MAX) throw new TypeError(`${place}: deeper than ${DEPTH_MAX} levels`);
  switch (typeof value) {
    case "string":
      return writeString(value, place);
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${place}: not a finite number`);
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? writeArray(value, place, depth) : writeObject(value, place, depth);
    default:
      throw new TypeError(`${place}: ${typeof value} is not a JSON value`);
  }
}

// RFC 8785, 3.2.2.2: JSON.stringify writes exactly the escapes that the RFC requires, but tolerates lone surrogates.
function writeString(text: string, place: string): string {
  if (!text.isWellFormed()) throw new TypeError(`${place}: lone surrogate`);
  return JSON.stringify(text);
}

function writeArray(items: readonly unknown[], place: string, depth: number): string {
  // Array.from also visits holes, which are undefined and therefore refused.
  return `[${Array.from(items, (item, i) => write(item, `${place}[${i}]`, depth + 1)).join(",")}]`;
}

function writeObject(object: object, place: string, depth: number): string {
  const prototype: unknown = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError(`${place}: not a plain object`);
  const members = object as Readonly<Record<string, unknown>>;
  // RFC 8785, 3.2.3: Array.prototype.sort without a comparator sorts by UTF-16 code units, as the RFC requires.
  const texts = Object.keys(members)
    .sort()
    .map((name) => `${writeString(name, place)}:${write(members[name], `${place}.${name}`, depth + 1)}`);
  return `{${texts.join(",")}}`;
}
