// Specification 3.3, DRAFT → ACTIVE: a key pair is drawn, a certificate issued, the document signed; the private key
// leaves in this answer and is kept nowhere.
import { recordActivity, recordDirectoryChange, recordEvent } from "../activity/store.ts";
import type { ManagementCall } from "../call.ts";
import type { Deps } from "../context.ts";
import { addMonths, systemClock, toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { newId } from "../core/ids.ts";
import { CERTIFICATE_MONTHS, SECOND_MS, STATUS_LIST_SIZE } from "../core/limits.ts";
import { move } from "../core/machine.ts";
import { effectivePrincipalStatus } from "../principals/states.ts";
import { type CertificateClaims, issueCertificate } from "../protocol/certificate.ts";
import { exportPrivateKeyPem, exportPublicJwk, generateKeyPair } from "../protocol/ecdsa.ts";
import { jwkThumbprint } from "../protocol/jwks.ts";
import { scopeOf, writeAid } from "./aid.ts";
import { type AgentStatus, agentMachine } from "./states.ts";
import {
  type AgentRow,
  findAgent,
  findEscrows,
  findMarkets,
  insertCertificate,
  type PrincipalRow,
  updateAgent,
  whileStanding,
} from "./store.ts";
import { toAgentView } from "./views.ts";

const WARNING = "Store the private key now: it is shown once and cannot be recovered.";

export async function activateAgent(call: ManagementCall, did: string) {
  const { db, scope, now, deps } = call;
  const { found, markets, escrows, caller } = await call.read({
    found: findAgent(db, scope, did),
    markets: findMarkets(db, did, scope.environment),
    escrows: findEscrows(db, did, scope.environment),
  });
  if (!found) throw new ServiceError("not_found");
  const { agent: before, principal } = found;
  const { to } = move(agentMachine, before.status as AgentStatus, "activate");
  const standing = effectivePrincipalStatus(principal, now);
  if (standing !== "ACTIVE") throw new ServiceError("invalid_status", { detail: { principal_status: standing } });

  const { privateKey, publicKey } = await generateKeyPair();
  const publicJwk = await exportPublicJwk(publicKey);
  const keyed: AgentRow = {
    ...before,
    status: to,
    version: before.version + 1,
    revision: before.revision + 1,
    publicJwk: { ...publicJwk },
    keyId: await jwkThumbprint(publicJwk),
    updatedAt: now,
  };
  const certificate = await certify(deps, keyed, principal);
  const agent: AgentRow = { ...keyed, ...certificate.columns };
  const source = { agent, principal, markets, escrows };
  const view = {
    did,
    status: to,
    private_key: await exportPrivateKeyPem(privateKey),
    certificate: certificate.columns.certificate,
    certificate_expires_at: toIso(certificate.columns.certificateExpiresAt),
    key_id: certificate.row.keyId,
    warning: WARNING,
  };
  const object = toAgentView(deps.config, source, now);
  await call.commit(
    [
      ...updateAgent(db, before, agent, whileStanding(now)),
      insertCertificate(db, certificate.row),
      ...(await writeAid(db, deps, source, now, true)),
      recordActivity(db, agent, now, {
        action: "agent.activated",
        actor: caller.actor,
        subject: { type: "agent", id: did },
      }),
      recordEvent(db, agent, now, { type: "agent.activated", object }),
      recordEvent(db, agent, now, { type: "agent.status_changed", object }),
      recordDirectoryChange(db, agent.environment, did, "registered", now),
    ],
    view,
  );
  return view;
}

/**
 * A new certificate for the same key: after a renewed attestation, or before the old one ends. The old one stays good until
 * then, so that the agent may take its time.
 */
export async function reissueCertificate(call: ManagementCall, did: string) {
  const { db, scope, now, deps } = call;
  const { found, markets, escrows, caller } = await call.read({
    found: findAgent(db, scope, did),
    markets: findMarkets(db, did, scope.environment),
    escrows: findEscrows(db, did, scope.environment),
  });
  if (!found) throw new ServiceError("not_found");
  const { agent: before, principal } = found;
  const standing = effectivePrincipalStatus(principal, now);
  const certified = before.certificate !== null && !FINAL.has(before.status);
  if (!certified || standing !== "ACTIVE") {
    throw new ServiceError("invalid_status", { detail: { status: before.status, principal_status: standing } });
  }
  const renewed: AgentRow = { ...before, version: before.version + 1, revision: before.revision + 1, updatedAt: now };
  const certificate = await certify(deps, renewed, principal);
  const agent: AgentRow = { ...renewed, ...certificate.columns };
  const view = {
    did,
    certificate: certificate.columns.certificate,
    certificate_expires_at: toIso(certificate.columns.certificateExpiresAt),
    key_id: certificate.row.keyId,
  };
  const { version, revision, updatedAt } = agent;
  await call.commit(
    [
      ...updateAgent(db, before, { ...certificate.columns, version, revision, updatedAt }),
      insertCertificate(db, certificate.row),
      ...(await writeAid(db, deps, { agent, principal, markets, escrows }, now, true)),
      recordActivity(db, agent, now, {
        action: "agent.certificate_reissued",
        actor: caller.actor,
        subject: { type: "agent", id: did },
      }),
      recordDirectoryChange(db, agent.environment, did, "updated", now),
    ],
    view,
  );
  return view;
}

const FINAL: ReadonlySet<string> = new Set(["REVOKED", "TERMINATED"]);

/**
 * A certificate for the agent's present key and scope; never past its principal's attestation. On the real clock, whatever a
 * test clock says: whoever verifies it offline has no other (contract section 3).
 */
export async function certify(deps: Deps, agent: AgentRow, principal: PrincipalRow) {
  const now = systemClock.now();
  const { signing } = await deps.ca();
  const expiresAt = Math.min(addMonths(now, CERTIFICATE_MONTHS), principal.attestationExpiresAt);
  // Random, so that it tells nothing of when or for whom it was issued. One that is taken is a Conflict, and drawn again.
  const [statusListIdx = 0] = crypto.getRandomValues(new Uint32Array(1)).map((value) => value % STATUS_LIST_SIZE);
  const jti = newId("crt", now);
  const scope = scopeOf(agent);
  const issuedAt = Math.floor(now / SECOND_MS);
  const claims: CertificateClaims = {
    iss: deps.config.issuer,
    sub: agent.did,
    jti,
    iat: issuedAt,
    nbf: issuedAt,
    exp: Math.floor(expiresAt / SECOND_MS),
    cnf: { jwk: agent.publicJwk as CertificateClaims["cnf"]["jwk"] },
    status: { status_list: { idx: statusListIdx, uri: `${deps.config.issuer}/.well-known/aeap-status-lists/1` } },
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
      scope,
      attestation: {
        attestation_id: principal.attestationId,
        verifier_id: principal.attestationVerifierId,
        model: principal.attestationModel,
      },
    },
  };
  const certificate = await issueCertificate(claims, signing);
  const certificateExpiresAt = claims.exp * SECOND_MS;
  return {
    columns: { certificate, certificateJti: jti, certificateExpiresAt },
    row: {
      did: agent.did,
      jti,
      keyId: agent.keyId ?? "",
      statusListIdx,
      issuedAt: now,
      expiresAt: certificateExpiresAt,
      replacedAt: null,
    },
  };
}
