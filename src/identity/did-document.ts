// The W3C DID documents of an agent, under its own DID and under the did:web form, and of the service, and the context that defines their terms
// (IDN-2, IDN-28, IDN-30, IDN-31, IDN-39).
import { systemClock } from "../core/clock.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { toDidWeb, toUri } from "../protocol/did-url.ts";
import type { PublishedJwks } from "../protocol/jwks.ts";
import { toAidUrl } from "./aid.ts";

export type AgentKey = { readonly keyId: string; readonly publicJwk: NonNullable<AgentRow["publicJwk"]> };

/** Which of the two identifiers the document describes: each names the other as `alsoKnownAs`. */
export type DidForm = "aeap" | "web";

/** The keys that are valid at this instant of real time, newest first: two during the grace of a rotation (AGT-32). */
export function listValidKeys({
  keyId,
  publicJwk,
  earlierKey,
}: Pick<AgentRow, "keyId" | "publicJwk" | "earlierKey">): AgentKey[] {
  if (keyId === null || publicJwk === null) return [];
  const graced = earlierKey !== null && earlierKey.until > systemClock.now() ? [earlierKey] : [];
  return [{ keyId, publicJwk }, ...graced];
}

const toContextUrl = (issuer: string): string => `${issuer}/contexts/aeap/v1`;

/** Safe mode of JSON-LD refuses a document with a term that no context defines. */
export const buildAgentContext = (issuer: string) => ({
  "@context": {
    "@version": 1.1,
    "@protected": true,
    AgentIdentityDocument: `${toContextUrl(issuer)}#AgentIdentityDocument`,
    AgentEndpoint: `${toContextUrl(issuer)}#AgentEndpoint`,
  },
});

const CONTEXTS = ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/jwk/v1"];

/** A document without keys offers no service, because nothing can act as the agent. */
export function buildDidDocument(
  { did, endpointUrl }: Pick<AgentRow, "did" | "endpointUrl">,
  keys: readonly AgentKey[],
  issuer: string,
  form: DidForm = "aeap",
) {
  const web = toDidWeb(issuer, ["v1", "agents", did, "did-web"]);
  const [id, other] = form === "aeap" ? [did, web] : [web, did];
  const head = {
    "@context": [...CONTEXTS, toContextUrl(issuer)],
    id,
    alsoKnownAs: [other],
  };
  const methods = toVerificationMethods(id, keys);
  if (methods.length === 0) return { ...head, verificationMethod: [] };
  const ids = methods.map((method) => method.id);
  return {
    ...head,
    verificationMethod: methods,
    authentication: ids,
    assertionMethod: ids,
    service: [
      { id: `${id}#aid`, type: "AgentIdentityDocument", serviceEndpoint: toAidUrl(issuer, did) },
      { id: `${id}#endpoint`, type: "AgentEndpoint", serviceEndpoint: toUri(endpointUrl) },
    ],
  };
}

/** The service acts only by its signatures: the CA's published keys assert its certificates, documents and receipts. */
export function buildServiceDocument(did: string, { keys }: PublishedJwks, issuer: string) {
  const methods = toVerificationMethods(
    did,
    keys.map(({ kid, kty, crv, x, y }) => ({ keyId: kid, publicJwk: { kty, crv, x, y } })),
  );
  return {
    "@context": CONTEXTS,
    id: did,
    alsoKnownAs: [issuer],
    verificationMethod: methods,
    assertionMethod: methods.map((method) => method.id),
  };
}

const toVerificationMethods = (id: string, keys: readonly AgentKey[]) =>
  keys.map(({ keyId, publicJwk }) => ({
    id: `${id}#${keyId}`,
    type: "JsonWebKey",
    controller: id,
    publicKeyJwk: { ...publicJwk, alg: "ES256", kid: keyId },
  }));

export type DidDocument = ReturnType<typeof buildDidDocument> | ReturnType<typeof buildServiceDocument>;
