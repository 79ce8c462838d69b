// Rotates an agent's key (AGT-32), reissues its certificate for the same key (AGT-23), and draws its key pair. The private key is returned once and
// never stored.
import type { ManagementCall } from "../call.ts";
import { systemClock, toIso } from "../core/clock.ts";
import { ServiceError } from "../core/errors.ts";
import { HOUR_MS } from "../core/limits.ts";
import { isFinal } from "../core/vocabulary.ts";
import type { AgentRow } from "../db/tables/agents.ts";
import type { PrincipalRow } from "../db/tables/principals.ts";
import type { AidSource } from "../identity/aid.ts";
import { certify, type IssuedCertificate } from "../identity/certificate.ts";
import { findListPlace } from "../identity/certificate-store.ts";
import type { AgentWithPrincipal } from "../identity/store.ts";
import { findTierWarnings } from "../principals/attestations.ts";
import { toEffectivePrincipalStatus } from "../principals/effective-status.ts";
import { exportPrivateKeyPem, exportPublicJwk, generateKeyPair } from "../protocol/ecdsa.ts";
import { computeJwkThumbprint } from "../protocol/jwks.ts";
import { buildSourceReads } from "./find-store.ts";
import type { CredentialsView, RotatedCredentialsView } from "./responses.ts";
import { reviseAgent, toAidSource } from "./revise.ts";
import type { KeyRotationInput } from "./schema.ts";

/** The new key is valid from the commit on, the previous one until its grace ends, to the second. Each rotation ends the grace of any earlier key. */
export async function rotateAgentKey(
  call: ManagementCall<AgentWithPrincipal>,
  did: string,
  { grace_hours }: KeyRotationInput,
): Promise<RotatedCredentialsView> {
  const { db, tenant, now, deps } = call;
  const { place, caller, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
  });
  const before = toAidSource(object, found);
  refuseUncertified(before, now);
  // Certificates and proofs are checked against real time, so the grace is in real time too.
  const wall = systemClock.now();
  const { keyId, publicJwk, earlierKey } = before.agent;
  const until = wall + grace_hours * HOUR_MS;
  const kept = grace_hours > 0 && keyId !== null && publicJwk !== null ? { keyId, publicJwk, until } : null;
  const key = await drawKey();
  const agent = { ...before.agent, ...key.columns };
  const certificate = await certify(call, agent, before.principal, place);
  const view = {
    ...(await toCredentials(agent, before.principal, certificate, key)),
    previous_key_expires_at: toIso(until),
  };
  const { statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: { ...key.columns, earlierKey: kept },
      newVersion: true,
      certificate,
      endsEarlierKey: earlierKey !== null && earlierKey.until > wall,
      earlierCountUntil: until,
      activity: {
        action: "agent.key_rotated",
        actor: caller.actor,
        changes: { key_id: { from: keyId, to: certificate.row.keyId } },
      },
      events: ["agent.key_rotated"],
      listing: "updated",
    },
    now,
  );
  await call.commit(statements, view);
  return view;
}

/** Issues a certificate after a renewed attestation or before the old certificate ends. The old one stays valid until it ends. */
export async function reissueCertificate(call: ManagementCall<AgentWithPrincipal>, did: string) {
  const { db, tenant, now, deps } = call;
  const { place, caller, object, ...found } = await call.read({
    ...buildSourceReads(db, tenant, did),
    place: findListPlace(db),
  });
  const before = toAidSource(object, found);
  refuseUncertified(before, now);
  const certificate = await certify(call, before.agent, before.principal, place);
  const view = {
    did,
    certificate: certificate.text,
    certificate_expires_at: toIso(certificate.row.expiresAt),
    key_id: certificate.row.keyId,
  };
  const { statements } = await reviseAgent(
    db,
    deps,
    before,
    {
      set: {},
      newVersion: true,
      certificate,
      activity: { action: "agent.certificate_reissued", actor: caller.actor },
      listing: "updated",
    },
    now,
  );
  await call.commit(statements, view);
  return view;
}

/** Refuses an agent without a certificate, one that has ended, and one whose principal is not ACTIVE. */
export function refuseUncertified({ agent, principal, certificate }: AidSource, now: number): void {
  const standing = toEffectivePrincipalStatus(principal, now);
  if (certificate !== null && !isFinal(agent.status) && standing === "ACTIVE") return;
  throw new ServiceError("invalid_status", { detail: { status: agent.status, principal_status: standing } });
}

const WARNING = "Store the private key now: it is shown once and cannot be recovered.";

type DrawnKey = { readonly columns: Pick<AgentRow, "publicJwk" | "keyId">; readonly privateKey: CryptoKey };

export async function drawKey(): Promise<DrawnKey> {
  const { privateKey, publicKey } = await generateKeyPair();
  const publicJwk = { ...(await exportPublicJwk(publicKey)) };
  return { columns: { publicJwk, keyId: await computeJwkThumbprint(publicJwk) }, privateKey };
}

export const toCredentials = async (
  { did, status, economicRole }: AgentRow,
  principal: PrincipalRow,
  { text, row }: IssuedCertificate,
  { privateKey }: DrawnKey,
): Promise<CredentialsView> => ({
  did,
  status,
  private_key: await exportPrivateKeyPem(privateKey),
  certificate: text,
  certificate_expires_at: toIso(row.expiresAt),
  key_id: row.keyId,
  warning: WARNING,
  warnings: findTierWarnings(economicRole, principal),
});
