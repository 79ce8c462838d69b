// What anyone may read of an agent, without a credential: its document, status, rating, certificate and DID document.
// One trip each; state is computed at the instant of the reading and never cached.
import type { PublicCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { toIso, toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { Conflict, commit, present, readBatch } from "../db/batch.ts";
import { effectivePrincipalStatus } from "../principals/states.ts";
import { aidAsJwt, aidEtag } from "../protocol/aid.ts";
import { liveRating } from "../ratings/rating.ts";
import { ratingSums } from "../ratings/signals.ts";
import { findHeaviest } from "../ratings/store.ts";
import { escrowStateOf, liveOf, serveAid, writeAid } from "./aid.ts";
import {
  type AgentRow,
  type AidRow,
  environmentOf,
  findAid,
  findAidVersion,
  findEscrows,
  findMarkets,
  findPublicAgent,
  updateAgent,
} from "./store.ts";

export type ServedAid = { json: string; jwt: string | null; etag: string; immutable: boolean };

/** `version` names an earlier version: what the platform controlled then, signed and immutable. */
export async function getAid(call: PublicCall, did: string, version: number | undefined): Promise<ServedAid> {
  const { db, now, deps } = call;
  const found = await readBatch(
    db,
    present({
      agent: findPublicAgent(db, did),
      aid: findAid(db, did),
      earlier: version === undefined ? null : findAidVersion(db, did, version),
    }),
  );
  if (!found.agent || !found.aid) throw new ServiceError("not_found");
  const { agent, principal } = found.agent;
  if (version !== undefined) {
    if (!found.earlier) throw new ServiceError("not_found");
    const { content, proof } = found.earlier;
    const jwt = aidAsJwt({ canonical: content, proof, etag: "" });
    return { json: serveAid(content, proof), jwt, etag: await aidEtag(content), immutable: true };
  }
  const aid = found.aid.stale ? await signStale(deps, did, now) : found.aid;
  const live = liveOf(agent, principal, now);
  return {
    json: serveAid(aid.content, aid.proof, live),
    jwt: aid.proof === null ? null : aidAsJwt({ canonical: aid.content, proof: aid.proof, etag: "" }),
    etag: await aidEtag(aid.content),
    immutable: false,
  };
}

const SIGNING_ATTEMPTS = 6;

/**
 * A change that touched many agents left this document behind: it is signed again now, for this and later readings. Who
 * reads it at the same time may have signed it first, and a change may have come between: then it is read again.
 */
async function signStale(deps: Deps, did: string, now: number): Promise<AidRow> {
  const { db } = deps;
  for (let attempt = 1; ; attempt++) {
    const { found, aid, markets, escrows } = await readBatch(db, {
      found: findPublicAgent(db, did),
      aid: findAid(db, did),
      markets: findMarkets(db, did, environmentOf(did)),
      escrows: findEscrows(db, did, environmentOf(did)),
    });
    if (!found || !aid) throw new ServiceError("not_found");
    if (!aid.stale) return aid;
    const agent: AgentRow = { ...found.agent, revision: found.agent.revision + 1 };
    const statements = await writeAid(db, deps, { ...found, agent, markets, escrows }, now, false);
    try {
      await commit(db, [...updateAgent(db, found.agent, { revision: agent.revision }), ...statements]);
    } catch (thrown) {
      if (!(thrown instanceof Conflict) || attempt === SIGNING_ATTEMPTS) throw thrown;
    }
  }
}

export async function getStatus(call: PublicCall, did: string) {
  const { db, now } = call;
  const { found, escrows, heaviest } = await readBatch(db, {
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
    escrow_state: escrowStateOf(agent.economicRole, escrows),
    agent_rating: liveRating(ratingSums(agent), heaviest, call.deps.config.rating[environment], now),
    principal_status: effectivePrincipalStatus(principal, now),
    as_of,
  };
}

export async function getRating(call: PublicCall, did: string) {
  const { db, now } = call;
  const { found, heaviest } = await readBatch(db, { found: findPublicAgent(db, did), heaviest: findHeaviest(db, did) });
  if (!found) throw new ServiceError("not_found");
  const { agent } = found;
  return {
    did,
    agent_rating: liveRating(ratingSums(agent), heaviest, call.deps.config.rating[agent.environment as "sandbox"], now),
    interactions: agent.ratingInteractions,
    counterparties: agent.ratingCounterparties,
    as_of: toIso(now),
  };
}

export async function getCertificate(call: PublicCall, did: string) {
  const { found } = await readBatch(call.db, { found: findPublicAgent(call.db, did) });
  const agent = found?.agent;
  if (!agent || agent.certificate === null) throw new ServiceError("not_found");
  return {
    did,
    certificate: agent.certificate,
    certificate_expires_at: toIsoOrNull(agent.certificateExpiresAt),
    key_id: agent.keyId,
  };
}

/** W3C DID Core: the agent's key, its document and its endpoint. `deactivated` belongs to the metadata of a resolution. */
export async function getDidDocument(call: PublicCall, did: string) {
  const { found } = await readBatch(call.db, { found: findPublicAgent(call.db, did) });
  if (!found) throw new ServiceError("not_found");
  const { agent } = found;
  const final = agent.status === "REVOKED" || agent.status === "TERMINATED";
  const { issuer } = call.deps.config;
  return { document: didDocument(agent, issuer, final), deactivated: final };
}

function didDocument(agent: AgentRow, issuer: string, final: boolean) {
  const { did, publicJwk, keyId } = agent;
  const context = ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/jwk/v1"];
  if (publicJwk === null || final) return { "@context": context, id: did, verificationMethod: [] };
  const method = `${did}#${keyId}`;
  return {
    "@context": context,
    id: did,
    verificationMethod: [
      { id: method, type: "JsonWebKey", controller: did, publicKeyJwk: { ...publicJwk, alg: "ES256", kid: keyId } },
    ],
    authentication: [method],
    assertionMethod: [method],
    service: [
      { id: `${did}#aid`, type: "AgentIdentityDocument", serviceEndpoint: `${issuer}/v1/agents/${did}/aid` },
      { id: `${did}#endpoint`, type: "AgentEndpoint", serviceEndpoint: agent.endpointUrl },
    ],
  };
}
