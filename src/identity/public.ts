// Public readings of an agent beside its document: status, certificate and DID document (IDN-2, IDN-11, IDN-24). One trip each; state is
// computed at the instant of the reading and never cached.
import type { PublicCall } from "../call.ts";
import { systemClock, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { isFinal } from "../core/vocabulary.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import { worstEscrowState } from "../escrow/states.ts";
import { effectivePrincipalStatus } from "../principals/standing.ts";
import { ratingMethod } from "../ratings/method.ts";
import { liveRating } from "../ratings/rating.ts";
import { ratingSums } from "../ratings/signals.ts";
import { findHeaviest } from "../ratings/store.ts";
import { certificateIn, liveOf } from "./aid.ts";
import { environmentOf, findCertified, findEscrows, findPublicAgent } from "./store.ts";

export async function getStatus(call: PublicCall, did: string) {
  const { db, deps, now } = call;
  const { found, escrows, heaviest } = await call.read({
    found: findPublicAgent(db, did),
    escrows: findEscrows(db, did, environmentOf(did)),
    heaviest: findHeaviest(db, did),
  });
  if (!found) throw new ServiceError("not_found");
  const { agent, principal } = found;
  const { status, environment, as_of } = liveOf(agent, principal, now);
  return {
    did,
    status,
    environment,
    cert_tier: agent.certTier,
    economic_role: agent.economicRole,
    escrow_state: worstEscrowState(agent.economicRole, escrows),
    agent_rating: liveRating(ratingSums(agent), heaviest, ratingMethod(deps.env, environment), now),
    principal_status: effectivePrincipalStatus(principal, now),
    aid_version: agent.version,
    aid_revision: agent.revision,
    as_of,
  };
}

export async function getCertificate(call: PublicCall, did: string) {
  const { found } = await call.read({ found: findCertified(call.db, did) });
  const certificate = found && certificateIn(found.content);
  if (!found || certificate === null) throw new ServiceError("not_found");
  return {
    did,
    certificate,
    certificate_expires_at: toIsoOrNull(found.certificateExpiresAt),
    key_id: found.keyId,
  };
}

/** W3C DID Core: the agent's key, its document and its endpoint. `deactivated` belongs to the metadata of a resolution. */
export async function getDidDocument(call: PublicCall, did: string) {
  const { found } = await call.read({ found: findPublicAgent(call.db, did) });
  if (!found) throw new ServiceError("not_found");
  const { agent, principal } = found;
  const final = isFinal(liveOf(agent, principal, call.now).status);
  const { issuer } = call.deps.config;
  return { document: didDocument(agent, issuer, final), deactivated: final };
}

function didDocument(agent: AgentRow, issuer: string, final: boolean) {
  const { did } = agent;
  const context = ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/jwk/v1"];
  const keys = final ? [] : keysOf(agent);
  if (keys.length === 0) return { "@context": context, id: did, verificationMethod: [] };
  const methods = keys.map(({ keyId, publicJwk }) => ({
    id: `${did}#${keyId}`,
    type: "JsonWebKey",
    controller: did,
    publicKeyJwk: { ...publicJwk, alg: "ES256", kid: keyId },
  }));
  const ids = methods.map(({ id }) => id);
  return {
    "@context": context,
    id: did,
    verificationMethod: methods,
    authentication: ids,
    assertionMethod: ids,
    service: [
      { id: `${did}#aid`, type: "AgentIdentityDocument", serviceEndpoint: `${issuer}/v1/agents/${did}/aid` },
      { id: `${did}#endpoint`, type: "AgentEndpoint", serviceEndpoint: agent.endpointUrl },
    ],
  };
}

/** The keys that count at this instant of real time, the newest first: two during the grace of a rotation (AGT-32). */
function keysOf({ keyId, publicJwk, earlierKey }: AgentRow) {
  if (keyId === null || publicJwk === null) return [];
  const graced = earlierKey !== null && earlierKey.until > systemClock.now() ? [earlierKey] : [];
  return [{ keyId, publicJwk }, ...graced];
}
