// The W3C DID document of an agent, under its own DID and under the did:web form of the same document, and the context whose terms it
// uses (IDN-2, IDN-28, IDN-30, IDN-31).
import { systemClock } from "../core/clock.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { didWebOf, toUri } from "../protocol/did-url.ts";
import { aidUrl } from "./aid.ts";

export type AgentKey = { readonly keyId: string; readonly publicJwk: NonNullable<AgentRow["publicJwk"]> };

/** Which of the two identifiers the document describes: each names the other as `alsoKnownAs`. */
export type DidForm = "aeap" | "web";

/** The keys that count at this instant of real time, the newest first: two during the grace of a rotation (AGT-32). */
export function keysOf({ keyId, publicJwk, earlierKey }: AgentRow): AgentKey[] {
  if (keyId === null || publicJwk === null) return [];
  const graced = earlierKey !== null && earlierKey.until > systemClock.now() ? [earlierKey] : [];
  return [{ keyId, publicJwk }, ...graced];
}

const contextUrl = (issuer: string): string => `${issuer}/contexts/aeap/v1`;

/** JSON-LD in safe mode drops nothing silently: it refuses a document with a term that no context defines. */
export const agentContext = (issuer: string) => ({
  "@context": {
    "@version": 1.1,
    "@protected": true,
    AgentIdentityDocument: `${contextUrl(issuer)}#AgentIdentityDocument`,
    AgentEndpoint: `${contextUrl(issuer)}#AgentEndpoint`,
  },
});

/** Without keys nobody acts as the agent, and the document offers no service. */
export function didDocument(
  { did, endpointUrl }: Pick<AgentRow, "did" | "endpointUrl">,
  keys: readonly AgentKey[],
  issuer: string,
  form: DidForm = "aeap",
) {
  const web = didWebOf(issuer, ["v1", "agents", did, "did-web"]);
  const [id, other] = form === "aeap" ? [did, web] : [web, did];
  const head = {
    "@context": ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/jwk/v1", contextUrl(issuer)],
    id,
    alsoKnownAs: [other],
  };
  const methods = keys.map(({ keyId, publicJwk }) => ({
    id: `${id}#${keyId}`,
    type: "JsonWebKey",
    controller: id,
    publicKeyJwk: { ...publicJwk, alg: "ES256", kid: keyId },
  }));
  if (methods.length === 0) return { ...head, verificationMethod: [] };
  const ids = methods.map((method) => method.id);
  return {
    ...head,
    verificationMethod: methods,
    authentication: ids,
    assertionMethod: ids,
    service: [
      { id: `${id}#aid`, type: "AgentIdentityDocument", serviceEndpoint: aidUrl(issuer, did) },
      { id: `${id}#endpoint`, type: "AgentEndpoint", serviceEndpoint: toUri(endpointUrl) },
    ],
  };
}

export type DidDocument = ReturnType<typeof didDocument>;
