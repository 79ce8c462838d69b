// The permanent identifier of an agent, `did:aeap:<uuid4>`, opaque and case-sensitive (IDN-1). Pure text; keccak.ts hashes it for the chain.

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
