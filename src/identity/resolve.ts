// Public reads of an agent besides its document: status, certificate and DID document (IDN-2, IDN-11, IDN-24), and DID resolution and DID URL
// dereferencing by W3C DID Resolution 1.0, sections 4 and 5 (IDN-32 to IDN-37, IDN-39), whose outcome resolver-routes.ts writes. A read takes one
// trip. The state is computed at the instant of the read and never cached.
import type { PublicCall } from "../call.ts";
import { systemClock, toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { isFinal } from "../core/vocabulary.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { pickWorstStateOfAgent } from "../escrow/states.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { type DidUrl, isDid, parseDidUrl, toDidWeb, toUri } from "../protocol/did.ts";
import type { PublishedJwks } from "../protocol/jwks.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { parseCertificate, toAidUrl, toLiveStatus } from "./aid.ts";
import { findCertificateDocument, findStatus, findSubjectRow, toPrincipalStanding } from "./store.ts";

export async function getStatus(call: PublicCall, did: string) {
  const { db, deps, now } = call;
  const { agent } = await call.read({ agent: findStatus(db, did) });
  if (!agent) throw new ServiceError("not_found");
  const principal = toPrincipalStanding(agent);
  const { status, environment, as_of } = toLiveStatus(agent, principal, now);
  return {
    did,
    status,
    environment,
    cert_tier: agent.certTier,
    economic_role: agent.economicRole,
    escrow_state: pickWorstStateOfAgent(agent),
    agent_rating: computeRatingFromRow(agent, pickRatingMethod(deps.env, environment), now + agent.clockOffsetMs),
    principal_status: toEffectivePrincipalStatus(principal, now),
    aid_version: agent.version,
    aid_revision: agent.revision,
    as_of,
  };
}

export async function getCertificate(call: PublicCall, did: string) {
  const { found } = await call.read({ found: findCertificateDocument(call.db, did) });
  const certificate = found && parseCertificate(found.content);
  if (!found || certificate === null) throw new ServiceError("not_found");
  return {
    did,
    certificate,
    certificate_expires_at: toIsoOrNull(found.certificateExpiresAt),
    key_id: found.keyId,
  };
}

/** W3C DID Core: the agent's keys, its document and its endpoint. `deactivated` is part of a resolution's metadata, not of the document. */
export async function getDidDocument(call: PublicCall, did: string, form: DidForm) {
  const subject = await findSubject(call, did);
  if (!subject) throw new ServiceError("not_found");
  const { agent, deactivated } = subject;
  return buildDidDocument(agent, deactivated ? [] : listValidKeys(agent), call.deps.config.issuer, form);
}

/** Finds the columns of the DID document, and whether the DID is deactivated (REVOKED or TERMINATED); null if there is no such agent. */
export async function findSubject(call: PublicCall, did: string) {
  const { agent } = await call.read({ agent: findSubjectRow(call.db, did) });
  if (!agent) return null;
  return { agent, deactivated: isFinal(toLiveStatus(agent, toPrincipalStanding(agent), call.now).status) };
}

// ---- DID documents (IDN-2, IDN-28, IDN-30, IDN-31, IDN-39) --------------------------------------------------------------

export type AgentKey = { readonly keyId: string; readonly publicJwk: NonNullable<AgentRow["publicJwk"]> };

export type DidDocument = ReturnType<typeof buildDidDocument> | ReturnType<typeof buildServiceDocument>;

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

// ---- DID resolution -----------------------------------------------------------------------------------------------------

/** The error types of the recommendation that this resolver returns, with their HTTP status. */
export const RESOLUTION_ERRORS = {
  INVALID_DID: { status: 400, title: "The text is not a DID." },
  INVALID_DID_URL: { status: 400, title: "The text is not a DID URL." },
  INVALID_OPTIONS: { status: 400, title: "An option has a wrong value." },
  NOT_FOUND: { status: 404, title: "The DID or the DID URL was not found." },
  REPRESENTATION_NOT_SUPPORTED: { status: 406, title: "None of the accepted media types is offered." },
  METHOD_NOT_SUPPORTED: { status: 501, title: "This resolver resolves only did:aeap." },
  FEATURE_NOT_SUPPORTED: { status: 501, title: "This resolver does not have the option." },
} as const;

export class ResolutionError extends Error {
  readonly type: keyof typeof RESOLUTION_ERRORS;

  constructor(type: keyof typeof RESOLUTION_ERRORS, detail: string) {
    super(detail);
    this.name = "ResolutionError";
    this.type = type;
  }
}

/** A DID URL, and its parameters together with the options: the algorithms treat both alike. */
export type DidRequest = { readonly url: DidUrl; readonly parameters: ReadonlyMap<string, string> };

type Metadata = { readonly created?: string; readonly deactivated?: true };
type Method = DidDocument["verificationMethod"][number];
type Service = NonNullable<Extract<DidDocument, { service: unknown }>["service"]>[number];
export type Content = DidDocument | ((Method | Service) & { readonly "@context": readonly string[] });

/** `location`: the endpoint that the DID URL selects; `content` is then the document with only the selected service. */
export type Resolved = { readonly content: Content; readonly location: string | null; readonly metadata: Metadata };

/** True if the request asks for a part of a document, or for the target of a service. */
export const isPart = ({ url: { path, fragment }, parameters }: DidRequest): boolean =>
  path !== "" || fragment !== null || selectsService(parameters);

export const selectsService = (parameters: DidRequest["parameters"]): boolean =>
  ["service", "serviceType", "relativeRef"].some((name) => parameters.has(name));

/** Reads a request. A DID URL has its parameters in itself, or as the query of the request. */
export function parseDidRequest(identifier: string, query: Iterable<readonly [string, string]>): DidRequest {
  const url = parseDidUrl(identifier);
  if (!url) {
    throw /[/?#]/.test(identifier)
      ? new ResolutionError("INVALID_DID_URL", "The text breaks the grammar of DID Core, section 3.2.")
      : new ResolutionError("INVALID_DID", "The text breaks the grammar of DID Core, section 3.1.");
  }
  const parameters = new Map<string, string>();
  for (const [name, value] of [...new URLSearchParams(url.query ?? ""), ...query]) {
    if (parameters.has(name)) throw new ResolutionError("INVALID_OPTIONS", `${name} is given more than once.`);
    parameters.set(name, value);
  }
  return { url, parameters };
}

const ASCII = /^[\x21-\x7e]*$/;
const BOOLEAN = /^(true|false)$/;
const SECOND = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const RELATIVE = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#-]|%[0-9A-Fa-f]{2})*$/;

/** The supported options and their values. Nothing is cached and no URL is relative, so `noCache` and `expandRelativeUrls` always hold. */
const OPTIONS: ReadonlyMap<string, RegExp> = new Map([
  ["service", ASCII],
  ["serviceType", ASCII],
  ["relativeRef", RELATIVE],
  ["expandRelativeUrls", BOOLEAN],
  ["noCache", BOOLEAN],
]);
/**
 * Earlier DID documents are not kept: the end of an agent or of a key's grace changes the document without a new version of the identity document.
 */
const NOT_SUPPORTED: ReadonlyMap<string, RegExp> = new Map([["versionTime", SECOND]]);

function checkDidRequest({ url: { did, method }, parameters }: DidRequest): void {
  if (method !== "aeap")
    throw new ResolutionError("METHOD_NOT_SUPPORTED", `This resolver does not resolve did:${method}.`);
  if (!isDid(did)) throw new ResolutionError("INVALID_DID", "A did:aeap must end with a lower-case UUID of version 4.");
  for (const [name, value] of parameters) {
    const syntax = OPTIONS.get(name) ?? NOT_SUPPORTED.get(name) ?? ASCII;
    if (!syntax.test(value)) throw new ResolutionError("INVALID_OPTIONS", `The value of ${name} is malformed.`);
    if (!OPTIONS.has(name)) throw new ResolutionError("FEATURE_NOT_SUPPORTED", `There is no option ${name}.`);
  }
}

/** Takes one trip, and none for the service's own DID. A deactivated DID has no parts: its outcome is the document without keys. */
export async function resolveDidUrl(call: PublicCall, asked: DidRequest): Promise<Resolved> {
  checkDidRequest(asked);
  const { serviceDid, issuer } = call.deps.config;
  if (asked.url.did === serviceDid) {
    const { jwks } = await call.deps.ca();
    return { ...dereference(buildServiceDocument(serviceDid, jwks, issuer), asked), metadata: {} };
  }
  const subject = await findSubject(call, asked.url.did);
  if (!subject) throw new ResolutionError("NOT_FOUND", "No agent has this DID.");
  const { agent, deactivated } = subject;
  const document = buildDidDocument(agent, deactivated ? [] : listValidKeys(agent), issuer);
  const created = `${toIso(agent.createdAt).slice(0, 19)}Z`;
  if (deactivated) return { content: document, location: null, metadata: { created, deactivated } };
  return { ...dereference(document, asked), metadata: { created } };
}

function dereference(document: DidDocument, { url, parameters }: DidRequest): Pick<Resolved, "content" | "location"> {
  if (url.path !== "") throw new ResolutionError("NOT_FOUND", "A did:aeap has no paths.");
  if (selectsService(parameters)) return selectService(document, url, parameters);
  if (url.fragment === null) return { content: document, location: null };
  const id = `${document.id}#${url.fragment}`;
  const part = [...document.verificationMethod, ...listServices(document)].find((one) => one.id === id);
  if (!part) throw new ResolutionError("NOT_FOUND", "The document has no such key and no such service.");
  return { content: { "@context": document["@context"], ...part }, location: null };
}

const listServices = (document: DidDocument): readonly Service[] => ("service" in document ? document.service : []);

function selectService(document: DidDocument, url: DidUrl, parameters: DidRequest["parameters"]) {
  const [wanted, type, reference] = ["service", "serviceType", "relativeRef"].map((name) => parameters.get(name));
  if (wanted === undefined && type === undefined)
    throw new ResolutionError("INVALID_OPTIONS", "A relativeRef needs a service or a serviceType.");
  const names = ({ id }: Service) => [id, `#${id.split("#")[1]}`, id.split("#")[1]];
  const service = listServices(document).filter(
    (one) => (wanted === undefined || names(one).includes(wanted)) && (type === undefined || one.type === type),
  );
  const [selected] = service;
  if (!selected) throw new ResolutionError("NOT_FOUND", "The document has no such service.");
  const location = resolveReference(selected.serviceEndpoint, reference ?? "", url.fragment);
  return { content: { ...document, service }, location };
}

/** Resolves a reference by RFC 3986, section 5. A reference to another host is refused: it would make the DID URL an open redirect. */
function resolveReference(endpoint: string, reference: string, fragment: string | null): string {
  if (!URL.canParse(reference, endpoint)) throw new ResolutionError("INVALID_OPTIONS", "The relativeRef is malformed.");
  const own = new URL(endpoint);
  const target = reference === "" ? own : new URL(reference, endpoint);
  if (target.origin !== own.origin || target.username !== "" || target.password !== "")
    throw new ResolutionError("INVALID_OPTIONS", "The relativeRef leads to another host.");
  if (fragment === null) return target.href;
  if (target.hash !== "") throw new ResolutionError("INVALID_DID_URL", "The endpoint has a fragment of its own.");
  return `${target.href}#${fragment}`;
}
