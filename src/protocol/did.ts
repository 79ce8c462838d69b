// The permanent identifier of an agent, `did:aeap:<uuid4>`, opaque and case-sensitive (IDN-1), and the grammar of other DIDs. Pure text; keccak.ts
// hashes a DID for the chain.

/** A DID that `parseDid` has accepted or `generateDid` has made. */
export type Did = `did:aeap:${string}`;

const UUID4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

/** The one accepted form: lower-case hex, version 4, RFC 9562 variant. Usable as a JSON Schema pattern. */
export const DID_PATTERN: RegExp = new RegExp(`^did:aeap:${UUID4}$`);

const UUID4_PATTERN = new RegExp(`^${UUID4}$`);

/** True for a DID of this method, compared character by character. */
export function isDid(value: unknown): value is Did {
  return typeof value === "string" && DID_PATTERN.test(value);
}

/** The text as a DID, or undefined if it is none. Nothing is trimmed, folded or decoded. */
export function parseDid(text: string): Did | undefined {
  return isDid(text) ? text : undefined;
}

/**
 * The DID of a uuid.
 * @throws TypeError if `uuid` is not a lower-case version 4 UUID
 */
export function formatDid(uuid: string): Did {
  if (!UUID4_PATTERN.test(uuid)) throw new TypeError("not a lower-case version 4 UUID");
  return `did:aeap:${uuid}`;
}

/** The uuid inside a DID. */
export function toDidUuid(did: Did): string {
  return did.slice("did:aeap:".length);
}

/** A new DID from the platform's random source. For a provider, the caller draws again until the DID's hash fits. */
export function generateDid(): Did {
  return formatDid(crypto.randomUUID());
}

/**
 * The DID in one path segment, raw or with its colons as `%3A` (either case); undefined if there is none. Only the colon may be encoded: no other
 * character of a DID is escaped by URL libraries.
 */
export function parseDidSegment(segment: string): Did | undefined {
  return parseDid(segment.replaceAll(/%3A/gi, ":"));
}

// ---- DIDs and DID URLs of any method, by the grammar of DID Core (3.1, 3.2) -----------------------------------------------

/** The parts of a DID URL as written: nothing is decoded. A plain DID has an empty path and no query or fragment. */
export type DidUrl = {
  readonly did: string;
  readonly method: string;
  readonly path: string;
  readonly query: string | null;
  readonly fragment: string | null;
};

const ID_CHARACTER = "(?:[A-Za-z0-9._-]|%[0-9A-Fa-f]{2})";
const PATH_CHARACTER = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
const QUERY_CHARACTER = `(?:${PATH_CHARACTER}|[/?])`;
const DID_URL = new RegExp(
  `^(did:([a-z0-9]+):(?:${ID_CHARACTER}*:)*${ID_CHARACTER}+)` +
    `((?:/${PATH_CHARACTER}*)*)(?:\\?(${QUERY_CHARACTER}*))?(?:#(${QUERY_CHARACTER}*))?$`,
);
/** Longer texts are refused unread: no DID or DID URL of this service comes near this length. */
const MAX_LENGTH = 4096;

/** The parts of a DID or DID URL, or undefined if it is neither. */
export function parseDidUrl(text: string): DidUrl | undefined {
  const found = text.length <= MAX_LENGTH ? DID_URL.exec(text) : null;
  if (!found) return undefined;
  const [, did = "", method = "", path = "", query = null, fragment = null] = found;
  return { did, method, path, query, fragment };
}

/** The did:web identifier of a document at `{origin}/{segments}/did.json`. The colons of a port and of segments are encoded. */
export const toDidWeb = (origin: string, segments: readonly string[]): string =>
  ["did:web", encodeURIComponent(new URL(origin).host), ...segments.map(encodeURIComponent)].join(":");

const OUTSIDE_URI = /[^A-Za-z0-9._~:/?#[\]@!$&'()*+,;=%-]/gu;

/**
 * An http(s) URL in the form of RFC 3986. A URL parser encodes non-ASCII characters; this also encodes what the parser leaves: brackets outside the
 * host, a number sign inside the fragment, and a percent sign that begins no octet.
 */
export function toUri(url: string): string {
  const { origin, pathname, search, hash } = new URL(url);
  const part = (text: string) =>
    text
      .replace(OUTSIDE_URI, encodeURIComponent)
      .replace(/[[\]]/g, encodeURIComponent)
      .replace(/%(?![0-9A-Fa-f]{2})/g, "%25");
  const fragment = hash === "" ? "" : `#${part(hash.slice(1)).replaceAll("#", "%23")}`;
  return `${origin}${part(pathname)}${part(search)}${fragment}`;
}
