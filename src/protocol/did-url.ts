// DIDs and DID URLs of any method, by the grammar of DID Core (3.1, 3.2), and the did:web form of an address. Pure text.

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
