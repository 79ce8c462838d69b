// Issues an agent's certificate for its present key and scope (IDN-6, IDN-7).
import { decodeJwt } from "jose";
import type { ManagementCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { addMonths, systemClock } from "../core/clock.ts";
import { createId } from "../core/ids.ts";
import { CERTIFICATE_MONTHS, SECOND_MS } from "../core/limits.ts";
import { Conflict } from "../core/retry.ts";
import type { AgentRow, CertificateRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import { toCanonicalJson } from "../protocol/canonical-json.ts";
import { type CertificateCheck, type CertificateClaims, issueCertificate } from "../protocol/certificate.ts";
import { computeJwkThumbprint } from "../protocol/jwks.ts";
import { toDelegation, toScope } from "./aid.ts";
import { type DrawnPlace, type IssuedClaims, type Place, toListedNumber } from "./certificate-store.ts";
import { watchCrowding } from "./open-status-list.ts";

export type IssuedCertificate = {
  /** The JWT. */
  readonly text: string;
  readonly columns: Pick<AgentRow, "certificateJti" | "certificateExpiresAt" | "recertified">;
  readonly row: CertificateRow;
};

/** `drawn`: the certificate's place in the status list, drawn in the trip that read the agent. */
export async function certify(
  { deps, background }: Pick<ManagementCall, "deps" | "background">,
  agent: AgentRow,
  principal: PrincipalRow,
  drawn: DrawnPlace | null,
): Promise<IssuedCertificate> {
  if (!drawn) {
    // All drawn places are taken: the next attempt draws others, from a new list if this one is full.
    await watchCrowding(deps, drawn);
    throw new Conflict();
  }
  background(watchCrowding(deps, drawn));
  const { taken: _drawnBefore, ...place } = drawn;
  return issueAtPlace(deps, agent, principal, place);
}

/** True if a certificate names another attestation than its principal's present one: it ends with the attestation that it names. */
export function namesEarlierAttestation(certificate: string, principal: PrincipalRow): boolean {
  const { attestation } = decodeJwt<CertificateClaims>(certificate).aeap;
  return (
    attestation.attestation_id !== principal.attestationId ||
    attestation.verifier_id !== principal.attestationVerifierId
  );
}

/** True if a certificate states another scope than the agent's: the scope changed while none could be issued (AGT-22). */
export const statesOtherScope = (certificate: string, agent: AgentRow): boolean =>
  toCanonicalJson(decodeJwt<CertificateClaims>(certificate).aeap.scope) !== toCanonicalJson(toScope(agent));

/**
 * Issues a certificate at a place. It never outlives the principal's attestation, and its dates are in real time, because an offline reader has no
 * other clock (IDN-7).
 */
export async function issueAtPlace(
  deps: Deps,
  agent: AgentRow,
  principal: PrincipalRow,
  place: Place,
): Promise<IssuedCertificate> {
  const { publicJwk, keyId } = agent;
  if (publicJwk === null || keyId === null) throw new Error("an agent without a key is not certified");
  const { issuer } = deps.config;
  const now = systemClock.now();
  const { signing } = await deps.ca();
  const delegation = toDelegation(agent);
  const issuedAt = Math.floor(now / SECOND_MS);
  const jti = createId("crt", now);
  const claims: CertificateClaims = {
    iss: issuer,
    sub: agent.did,
    jti,
    iat: issuedAt,
    nbf: issuedAt,
    exp: Math.floor(Math.min(addMonths(now, CERTIFICATE_MONTHS), principal.attestationExpiresAt) / SECOND_MS),
    cnf: { jwk: publicJwk },
    status: { status_list: { idx: place.idx, uri: toStatusListUri(issuer, place.listId) } },
    aeap: {
      version: "1",
      agent_id: agent.did,
      economic_role: agent.economicRole,
      cert_tier: agent.certTier,
      principal_id: principal.principalId,
      principal_name: principal.legalName,
      principal_country: principal.country,
      authorized_actions: agent.authorizedActions,
      capabilities: agent.capabilities,
      scope: toScope(agent),
      ...(delegation && { delegation }),
      attestation: {
        attestation_id: principal.attestationId,
        verifier_id: principal.attestationVerifierId,
        model: principal.attestationModel,
        signed: principal.attestationSigned,
      },
    },
  };
  const expiresAt = claims.exp * SECOND_MS;
  const row = { did: agent.did, jti, keyId, caKid: signing.kid, ...place, issuedAt: now, expiresAt };
  return {
    text: await issueCertificate(claims, signing),
    columns: { certificateJti: jti, certificateExpiresAt: expiresAt, recertified: agent.certificateJti !== null },
    row: { ...row, listedStatus: toListedNumber(agent.status), replacedAt: null },
  };
}

/** The columns of the row that this service stored for a certificate. */
export const toIssuedClaims = async ({
  claims,
  kid,
}: Extract<CertificateCheck, { ok: true }>): Promise<IssuedClaims> => ({
  did: claims.sub,
  jti: claims.jti,
  keyId: await computeJwkThumbprint(claims.cnf.jwk),
  caKid: kid,
});

export const toStatusListUri = (issuer: string, listId: number): string =>
  `${issuer}/.well-known/aeap-status-lists/${listId}`;
