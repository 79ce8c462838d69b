// Public reads of an agent besides its document: status, certificate and DID document (IDN-2, IDN-11, IDN-24). Each takes one trip; the state is
// computed at the instant of the read and never cached.
import type { PublicCall } from "../call.ts";
import { toIsoOrNull } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { isFinal } from "../core/vocabulary.ts";
import { pickWorstStateOfAgent } from "../escrow/states.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { pickRatingMethod } from "../ratings/method.ts";
import { computeRatingFromRow } from "../ratings/signals.ts";
import { parseCertificate, toLiveStatus } from "./aid.ts";
import { buildDidDocument, type DidForm, listValidKeys } from "./did-document.ts";
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

/** Finds the columns of the DID document, and whether the DID is deactivated (REVOKED or TERMINATED); null if there is no such agent. */
export async function findSubject(call: PublicCall, did: string) {
  const { agent } = await call.read({ agent: findSubjectRow(call.db, did) });
  if (!agent) return null;
  return { agent, deactivated: isFinal(toLiveStatus(agent, toPrincipalStanding(agent), call.now).status) };
}

/** W3C DID Core: the agent's keys, its document and its endpoint. `deactivated` is part of a resolution's metadata, not of the document. */
export async function getDidDocument(call: PublicCall, did: string, form: DidForm) {
  const subject = await findSubject(call, did);
  if (!subject) throw new ServiceError("not_found");
  const { agent, deactivated } = subject;
  return buildDidDocument(agent, deactivated ? [] : listValidKeys(agent), call.deps.config.issuer, form);
}
