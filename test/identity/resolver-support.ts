// Sends requests to the DID resolver and reads its answers.
import { ISSUER, type Json, type Reply, type World } from "../support/world.ts";

export const RESULT = "application/did-resolution";
export const PART = "application/did-url-dereferencing";
export const DRAFTED = (name: string) => `application/ld+json;profile="https://w3id.org/${name}"`;
export const UNKNOWN = "did:aeap:00000000-0000-4000-8000-000000000000";
export const ERROR = "https://www.w3.org/ns/did#";

/** Sends the identifier as it is: encode it before the call if necessary. */
export const ask = (world: World, identifier: string, accept?: string): Promise<Reply> =>
  world.call("GET", `/1.0/identifiers/${identifier}`, { key: null, headers: accept ? { Accept: accept } : {} });

/** Encodes a DID URL for use in a path. */
export const whole = encodeURIComponent;

export const jsonOf = ({ text }: Reply): Json => JSON.parse(text);
export const typeOf = ({ headers }: Reply): string | null => headers.get("content-type");
export const contextOf = `${ISSUER}/contexts/aeap/v1`;

/** Returns [status, the error's type, the content, its metadata]. */
export function refusalOf(reply: Reply): unknown[] {
  const said = jsonOf(reply);
  const [about, content, metadata] =
    "didDocument" in said
      ? [said.didResolutionMetadata, said.didDocument, said.didDocumentMetadata]
      : [said.dereferencingMetadata, said.contentStream, said.contentMetadata];
  return [reply.status, about.error.type.replace(ERROR, ""), content, metadata];
}
